from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from layout.thoroughness import examples
from pair_counts import reference, rows
from pyharness.kernels import PairHistogram, pair_histogram
from pyharness.types import Tokens

WIDE = 2**32 - 1
ids_of_any_width = st.sampled_from([0, 1, 2, 7, 2**18 - 1, 2**18, 2**31, WIDE])
segments = st.lists(st.lists(st.one_of(st.integers(0, 3), ids_of_any_width), max_size=9), max_size=12)


@given(documents=segments, threads=st.integers(1, 4), data=st.data())
def test_segments_and_weights(documents: list[list[int]], threads: int, data: st.DataObject) -> None:
    tokens = Tokens.from_lists(documents)
    assert rows(pair_histogram(tokens.ids, tokens.offsets, threads=threads)) == reference(documents)
    assert rows(pair_histogram(tokens.ids, threads=threads)) == reference([tokens.ids.tolist()])
    size = len(documents)
    weights = data.draw(st.lists(st.integers(0, 2**40), min_size=size, max_size=size))
    for array in (np.array(weights, np.int64), np.array(weights, np.uint64)):
        weighted = pair_histogram(tokens.ids, tokens.offsets, array, threads)
        assert rows(weighted) == reference(documents, weights)


def random_documents(generator: np.random.Generator) -> list[list[int]]:
    """Segments of any length, the empty ones included, of ids that are skewed or uniform, narrow or wide."""
    limit = int(generator.choice([2, 5, 300, 2**18 - 1, 2**18, 2**18 + 1, 2**31, 2**32]))
    power = float(generator.choice([1, 3, 12]))
    sizes = generator.integers(0, 60, generator.integers(0, 12))
    return [(generator.random(size) ** power * limit).astype(np.uint32).tolist() for size in sizes]


@pytest.mark.parametrize("seed", range(examples(200)))
def test_against_counter(seed: int) -> None:
    generator = np.random.default_rng(seed)
    documents = random_documents(generator)
    tokens = Tokens.from_lists(documents)
    weights = generator.integers(0, 3, len(documents))
    plain, weighted = reference(documents), reference(documents, weights.tolist())
    for threads in (1, 2, 3, 7):
        assert rows(pair_histogram(tokens.ids, tokens.offsets, threads=threads)) == plain
        assert rows(pair_histogram(tokens.ids, tokens.offsets, weights, threads)) == weighted


def assert_equals_numpy(histogram: PairHistogram, keys: NDArray[np.uint64]) -> None:
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((pairs, -counts))
    assert (histogram.left == pairs[order] >> np.uint64(32)).all()
    assert (histogram.right == (pairs[order] & np.uint64(WIDE))).all()
    assert (histogram.count == counts[order]).all()


@pytest.mark.parametrize("limit", [3, 300, 40_000, 2**18, 2**18 + 1, 2**32])
@pytest.mark.parametrize("skew", [1, 4])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_against_numpy(limit: int, skew: int, threads: int) -> None:
    generator = np.random.default_rng(limit)
    ids = (generator.random(200_000) ** skew * limit).astype(np.uint32)
    offsets = np.concatenate(([0], np.sort(generator.integers(0, len(ids), 5_000)), [len(ids)]))
    inside = np.ones(len(ids) - 1, np.bool_)
    starts = offsets[(offsets > 0) & (offsets < len(ids))]
    inside[starts - 1] = False
    keys = (ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:])[inside]
    assert_equals_numpy(pair_histogram(ids, offsets, threads=threads), keys)


@pytest.mark.data
def test_a_real_corpus(data: Path) -> None:
    """UTF-16 units of books and poetry: real text, skewed, from two scripts, without a tokenizer."""
    texts = []
    for name in ("english/tinyshakespeare.txt.xz", "multilingual/zh/tang_song_poetry.jsonl.xz"):
        with lzma.open(data / "corpora" / name, "rt", encoding="utf-8") as lines:
            texts.append(lines.read())
    ids = np.frombuffer("".join(texts).encode("utf-16-le"), np.uint16).astype(np.uint32)
    keys = ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:]
    for threads in (1, 2, 3, 7):
        assert_equals_numpy(pair_histogram(ids, threads=threads), keys)


@pytest.mark.parametrize("weights", [None, np.array([1], np.uint64)], ids=["plain", "weighted"])
@pytest.mark.parametrize(("distinct", "tokens"), [(1_000, 18_000_000), (1_100_000, 13_200_000)])
@pytest.mark.parametrize("threads", [1, 2])
def test_several_chunks(distinct: int, tokens: int, weights: NDArray[np.uint64] | None, threads: int) -> None:
    """More pairs than are counted at once: 2**24, or 2**22 with weights. With many rows the second chunk is larger."""
    ids = np.resize(np.arange(distinct, dtype=np.uint32), tokens)
    histogram = pair_histogram(ids, weights=weights, threads=threads)
    assert (histogram.left == np.arange(distinct)).all()
    assert (histogram.right == np.roll(np.arange(distinct), -1)).all()
    assert (histogram.count[:-1] == tokens // distinct).all()
    assert histogram.count[-1] == tokens // distinct - 1


def test_counts_of_64_bits() -> None:
    ids, offsets = np.array([5, 6, 5, 6, 7], np.uint32), np.array([0, 2, 5])
    histogram = pair_histogram(ids, offsets, np.array([2**63, 1], np.uint64))
    assert rows(histogram) == [(5, 6, 2**63 + 1), (6, 7, 1)]
    with pytest.raises(ValueError, match="64 bits"):
        pair_histogram(ids, offsets, np.array([2**63, 2**63], np.uint64))
    assert len(pair_histogram(ids, offsets, np.zeros(2, np.uint64))) == 0


def test_nothing_to_count() -> None:
    for size in (0, 1):
        ids = np.zeros(size, np.uint32)
        assert len(pair_histogram(ids)) == len(pair_histogram(ids, np.array([0, size]))) == 0
    assert len(pair_histogram(np.arange(9, dtype=np.uint32), np.arange(10), threads=3)) == 0


def test_results_own_their_memory() -> None:
    histogram = pair_histogram(np.array([1, 2, 1, 2], np.uint32))
    count = histogram.count
    del histogram
    assert count.tolist() == [2, 1]


def test_what_does_not_fit_is_refused() -> None:
    ids = np.zeros(4, np.uint32)
    with pytest.raises(ValueError, match=r" 4\b"):
        pair_histogram(ids, np.array([0, 5]))
    with pytest.raises(ValueError, match="must not fall"):
        pair_histogram(ids, np.array([0, 3, 2, 4]))
    with pytest.raises(ValueError, match=r"weights .* 1\b"):
        pair_histogram(ids, weights=np.ones(2, np.uint64))
    with pytest.raises(ValueError, match="negative"):
        pair_histogram(ids, weights=np.array([-1]))
    with pytest.raises(ValueError, match="threads"):
        pair_histogram(ids, threads=0)
    with pytest.raises(TypeError, match=r"ids.*uint32"):
        pair_histogram(ids.astype(np.int64))
    with pytest.raises(ValueError, match="C-contiguous"):
        pair_histogram(ids[::2])
