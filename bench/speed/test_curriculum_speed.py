"""Speed of the vocabulary curriculum beside BPE: ``pytest bench/speed/test_curriculum_speed.py -s``. Both take turns.

A round encodes the text with the vocabulary that it has, groups it, and expands the groups; BPE counts pieces, trains
to the size that the round gives, and encodes the text. The signal is there before: training a symbol model and scoring
with it, which the curriculum needs and BPE does not, are said apart. Nothing here asserts a time, because machines
differ and neighbours disturb; every test asserts that both give the text back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.bpe import BpeTokenizer, PieceCounter, TextSplitter, model_of_training, train
from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.features.curriculum.tokenizer import FixpointEncoder
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.system.environment import cores
from pyharness.types import Offsets, Tokens, offsets_of
from speed_fixtures import NEEDS_DATA, Benchmark, documents, report

SIZE = 20_000_000  # bytes
ROUNDS = 5  # of turns
ORDER, EPSILON, PER_ROUND = 5, 0.3, 3000
TRAINED_ROUNDS = (1, 2, 3)  # of the curriculum

pytestmark = [*NEEDS_DATA, pytest.mark.timeout(3600)]


@cache
def texts() -> list[str]:
    return list(documents("english/books", SIZE))


@cache
def symbols() -> tuple[NDArray[np.uint8], Offsets]:
    encoded = [text.encode() for text in texts()]
    return np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(data) for data in encoded])


@dataclass(frozen=True)
class Round:
    """What a round begins with, and what it took to get the signal."""

    strings: list[bytes]
    signal: NDArray[np.float64]
    modelling: float  # seconds, wall
    scoring: float

    def run(self, threads: int) -> tuple[Tokens, list[bytes]]:
        tokens = FixpointEncoder(self.strings).encode(*symbols(), threads)
        counter = GroupCounter(EPSILON)
        counter.add(tokens.ids, self.signal, tokens.offsets, threads)
        added = expand(self.strings, counter.first(PER_ROUND))
        return tokens, self.strings + [addition.string for addition in added]


@cache
def prepared(number: int) -> Round:
    strings = [bytes([byte]) for byte in range(256)] if number == 1 else prepared(number - 1).run(cores())[1]
    tokens = FixpointEncoder(strings).encode(*symbols(), cores())
    start = time.perf_counter()
    model = SymbolModel.train([(tokens.ids, tokens.offsets)], len(strings), ORDER, cores())
    middle = time.perf_counter()
    signal = model.score(tokens.ids, tokens.offsets, cores()).entropy
    return Round(strings, signal, middle - start, time.perf_counter() - middle)


def bpe(size: int, threads: int) -> tuple[BpeTokenizer, Tokens]:
    counter = PieceCounter(TextSplitter("gpt2"))
    counter.add(texts(), threads)
    tokenizer = BpeTokenizer(model_of_training(train(counter.pieces(), size), "gpt2"))
    return tokenizer, tokenizer.encode_batch(texts(), threads)


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """Processor time and wall time."""
    start = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - start[0], time.perf_counter() - start[1]


@pytest.mark.parametrize("threads", sorted({1, cores()}))
@pytest.mark.parametrize("number", TRAINED_ROUNDS)
def test_a_round_beside_bpe(benchmark: Benchmark, number: int, threads: int) -> None:
    this = prepared(number)
    tokens, larger = this.run(threads)
    assert b"".join(this.strings[token] for token in tokens.document(0).tolist()).decode() == texts()[0]
    tokenizer, encoded = bpe(len(larger), threads)
    assert tokenizer.decode(encoded.document(0)).decode() == texts()[0]
    turns = [(seconds(lambda: this.run(threads)), seconds(lambda: bpe(len(larger), threads))) for _ in range(ROUNDS)]
    benchmark.pedantic(lambda: this.run(threads), rounds=1)
    times = np.array(turns)  # [turns, ours and BPE, processor and wall]
    ratios = times[:, 0] / times[:, 1]
    said = "; ".join(
        f"{kind}: round {spread(times[:, 0, at], '.2f')} s, BPE {spread(times[:, 1, at], '.2f')} s, "
        f"ratio {spread(ratios[:, at], '.2f')}"
        for at, kind in enumerate(("processor", "wall"))
    )
    report(
        benchmark,
        f"round {number}, {len(this.strings):,} to {len(larger):,} strings, {len(tokens.ids):,} tokens, {threads} "
        f"threads: {said}; apart, wall: modelling {this.modelling:.1f} s, scoring {this.scoring:.1f} s; load "
        f"{os.getloadavg()[0]:.1f}",
    )


def spread(values: NDArray[np.float64], form: str) -> str:
    return f"{np.median(values):{form}} [{values.min():{form}}, {values.max():{form}}]"
