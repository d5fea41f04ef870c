"""Speed of continued BPE: ``pytest bench/speed/test_extending_speed.py -s``. What is compared takes turns in one test.

Plain training makes as many merges, on the same pieces, from their bytes; its text is normalised and split as that of
the model. Both run on one thread, and on as many as there are cores, as the commands do. Nothing here asserts a time,
because machines differ and neighbours disturb.
"""

from __future__ import annotations

import json
import lzma
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import extending as oracle
from pyharness.bpe import BpeModel, PieceCounter, TextSplitter, WeightedPieces, import_model, train
from pyharness.bpe.encoding.stages import normalizer_of
from pyharness.features.adaptation.bpe.extension import extend
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, read_piece_rules
from pyharness.system.environment import cores
from speed_fixtures import DATA, NEEDS_DATA, Benchmark, report

SIZE = 50_000_000  # bytes
TOKENS = 8192
ROUNDS = 7
FILES = {
    "gpt2": "gpt2/tokenizer.json",
    "qwen2_5": "qwen2_5/tokenizer.json",
    "deepseek_v3": "deepseek_v3/tokenizer.json",
    "cl100k": "tiktoken/cl100k_base.tiktoken",
    "mistral_v1": "mistral/tokenizer.model.v1",
    "mistral_v3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
}

pytestmark = NEEDS_DATA


def documents() -> Iterator[str]:
    """Books in English, and what there is in other languages."""
    folder = DATA / "corpora"
    for path in [folder / "english" / "books.jsonl.xz", *sorted((folder / "multilingual").glob("*/*.jsonl.xz"))]:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["text"]


@cache
def texts() -> list[str]:
    chosen, size = [], 0
    for text in documents():
        if size >= SIZE:
            break
        chosen.append(text)
        size += len(text.encode())
    return chosen


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """Processor time and wall time."""
    start = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - start[0], time.perf_counter() - start[1]


def normalised(model: BpeModel) -> Sequence[str]:
    normalize = normalizer_of(model)
    return texts() if normalize is None else [normalize(text) for text in texts()]


@pytest.mark.parametrize("threads", sorted({1, cores()}))
@pytest.mark.parametrize("name", FILES)
def test_extending_beside_plain_training(benchmark: Benchmark, name: str, threads: int) -> None:
    path = DATA / "tokenizers" / FILES[name]
    model = import_model(path)
    rules = read_piece_rules(path.read_bytes(), name) if ".model" in path.name else None

    def count() -> WeightedPieces:
        counter = ModelPieces(model, rules)
        counter.add(texts(), threads)
        return counter.pieces()

    def count_plainly() -> WeightedPieces:
        if not isinstance(model.splitter, str) or model.splitter == "none":
            return count()  # cut at the marks of a normaliser, without which there is nothing to count
        counter = PieceCounter(TextSplitter(model.splitter))
        counter.add(normalised(model), threads)
        return counter.pieces()

    pieces = count()
    steps = {
        "plain counting": count_plainly,
        "plain merging": lambda: train(pieces, 256 + TOKENS, min_frequency=2),
        "counting": count,
        "merging": lambda: extend(model, pieces, TOKENS, piece_rules=rules, threads=threads),
    }
    times: dict[str, list[tuple[float, float]]] = {step: [] for step in steps}
    for _ in range(ROUNDS + 1):  # the first is a warm-up
        for step, function in steps.items():
            times[step].append(seconds(function))
    extension = benchmark.pedantic(steps["merging"], rounds=1)
    assert extension.complete
    for at, kind in enumerate(("processor", "wall")):
        taken = {step: np.array(row)[1:, at] for step, row in times.items()}
        whole = (taken["counting"] + taken["merging"]) / (taken["plain counting"] + taken["plain merging"])
        said = ", ".join(f"{step} {np.median(row):.3f} s" for step, row in taken.items())
        report(
            benchmark,
            f"{name}, {kind} time, threads {threads}: {said}; extending by {TOKENS:,} over training, median of "
            f"{ROUNDS} rounds [least, most]: {spread(whole)}, merging alone "
            f"{spread(taken['merging'] / taken['plain merging'])}; load {os.getloadavg()[0]:.1f}",
        )


def spread(ratios: NDArray[np.float64]) -> str:
    return f"{np.median(ratios):.2f} [{ratios.min():.2f}, {ratios.max():.2f}]"


def grown(model: BpeModel) -> oracle.Grown:
    """The model as the oracle has it."""
    ends = model.merges.offsets.tolist()
    strings = {
        token: model.merges.data[start:end].tobytes()
        for token, (start, end) in enumerate(pairwise(ends))
        if model.merges.tested[token]
    }
    assert model.merges.rules is not None
    return oracle.Grown(strings, [(left, right, result) for left, right, result in model.merges.rules.tolist()])


def test_extending_beside_the_oracle(benchmark: Benchmark) -> None:
    from pyharness.bpe import model_of_training

    counter = PieceCounter(TextSplitter("gpt2"))
    counter.add(texts()[:1])
    pieces = counter.pieces()
    data = pieces.symbols.astype("uint8").tobytes()
    ends = pieces.offsets.tolist()
    words = {
        data[start:end]: weight
        for (start, end), weight in zip(pairwise(ends[:501]), pieces.weights[:500].tolist(), strict=True)
    }
    model = model_of_training(train(pieces, 400), "gpt2")
    start = time.process_time()
    _, learnt, _ = oracle.continued(grown(model).strings, grown(model).rules or [], words, 50)
    theirs = time.process_time() - start
    some = WeightedPieces.of_bytes(words)
    extension = benchmark(lambda: extend(model, some, 50, min_frequency=1))
    assert [tuple(rule) for rule in extension.rules.tolist()] == learnt
    ours = statistics.median(seconds(lambda: extend(model, some, 50, min_frequency=1))[0] for _ in range(9))
    report(
        benchmark, f"{len(words)} words, 50 tokens: the oracle takes {theirs / ours:,.0f} times as long ({ours:.4f} s)"
    )
