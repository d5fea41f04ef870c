"""Speed of BPE training: ``pytest bench/speed/test_training_speed.py -s``. Every benchmark asserts its result.

Nothing here asserts a time, because machines differ and neighbours disturb. The suite ``training`` has the peers.
"""

from __future__ import annotations

from functools import cache

import pytest

from pyharness.bpe import PieceCounter, TextSplitter, TrainedBpe, WeightedPieces, train
from speed_fixtures import NEEDS_DATA, Benchmark, documents

MOST_CHARACTERS = 8_000_000

pytestmark = NEEDS_DATA


@cache
def texts() -> list[str]:
    return list(documents("english/books", MOST_CHARACTERS))


def count(pattern: str, threads: int) -> WeightedPieces:
    counter = PieceCounter(TextSplitter(pattern))
    counter.add(texts(), threads)
    return counter.pieces()


def made(model: TrainedBpe) -> set[bytes]:
    return {model[token] for token in range(256, len(model))}


@cache
def made_by_rustbpe(pattern: str, vocab_size: int) -> set[bytes]:
    rustbpe = pytest.importorskip("rustbpe", reason="rustbpe is not installed: nothing to compare with")
    from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(texts()), vocab_size, pattern=SPLIT_PATTERNS[pattern].expressions[0])
    return {bytes(token) for token, _ in tokenizer.get_mergeable_ranks() if len(token) > 1}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("vocab_size", [8192, 32768])
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_whole_call(benchmark: Benchmark, pattern: str, vocab_size: int, threads: int) -> None:
    model = benchmark(lambda: train(count(pattern, threads), vocab_size))
    assert made(model) == made_by_rustbpe(pattern, vocab_size)


@pytest.mark.parametrize("scaffold", [False, True])
def test_merging(benchmark: Benchmark, scaffold: bool) -> None:
    pieces = count("gpt2", 1)
    model = benchmark(lambda: train(pieces, 32768, scaffold=scaffold))
    assert model.complete
    assert model.vocab_size == 32768
