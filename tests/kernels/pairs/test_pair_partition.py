"""The pair histogram by partition: random cases against the CPU, skew, and too little memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import SEEDS, Backend, backend, module
from layout.thoroughness import examples
from pair_counts import WIDE, kernels_only, reference, rows
from pyharness.kernels import PairHistogram, device_pairs, pair_histogram
from pyharness.types import Ids

__all__ = ["backend"]  # the fixture

TUNINGS = (
    {"threads": 32, "bucket_bits": 10, "bucket_slots": 64, "hot_slots": 0},  # tables that hold their buckets
    {"threads": 64, "bucket_bits": 13, "bucket_slots": 4, "part_positions": 7},  # shares, and parts that are summed
    {"threads": 96, "bucket_slots": 16, "part_positions": 40, "positions_per_round": 61},  # rounds
    {"threads": 32, "hot_slots": 512, "sampled_part": 1},  # all of a round is the sample
    {"threads": 32, "hot_slots": 1024, "sampled_part": 2, "bucket_slots": 16, "positions_per_round": 1100},
)
Draw = Callable[[np.random.Generator, int], NDArray[Any]]


def hot(generator: np.random.Generator, size: int) -> NDArray[Any]:
    """One pair, (3, 3), is about 90 % of all."""
    return np.where(generator.random(size) < 0.95, 3, generator.integers(0, 2**20, size))


def distinct(generator: np.random.Generator, size: int) -> NDArray[Any]:
    """Every pair once."""
    return generator.permutation(np.arange(size) + int(generator.choice([0, 2**17, 2**31])))


def frequent_and_rare(generator: np.random.Generator, size: int) -> NDArray[Any]:
    """Ids of text, spread over all of their range or not."""
    ids: NDArray[Any] = np.minimum(generator.zipf(1.3, size), 60_000)
    spread: NDArray[Any] = ids * int(generator.choice([1, 0x9E3779B1])) & WIDE
    return spread


def wide(generator: np.random.Generator, size: int) -> NDArray[Any]:
    """Few ids, at both ends of 32 bits."""
    return generator.choice([0, 1, 2**31 - 1, 2**31, WIDE - 1, WIDE], size)


def one_token(generator: np.random.Generator, size: int) -> NDArray[Any]:
    """The same id again and again."""
    return np.full(size, int(generator.choice([0, 7, WIDE])))


KINDS: tuple[Draw, ...] = (hot, distinct, frequent_and_rare, wide, one_token)


def drawn_segments(generator: np.random.Generator, size: int) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Offsets with empty segments among them, and weights with zeros; either may be missing."""
    if (cuts := int(generator.choice([-1, 0, 3, 40]))) < 0:
        return None, None
    offsets = np.concatenate(([0], np.sort(generator.integers(0, size + 1, cuts)), [size]))
    weights = generator.integers(0, generator.choice([2, 2**40]), cuts + 1).astype(np.uint64)
    return offsets, weights if generator.random() < 0.5 else None


@pytest.mark.parametrize("case", range(examples(200)))
def test_equals_the_cpu(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of tokens meets every tuning and every seed."""
    module("_emulated").set_seed(SEEDS[case % len(SEEDS)])
    for name, value in TUNINGS[case // len(SEEDS) % len(TUNINGS)].items():
        monkeypatch.setitem(device_pairs.TUNING, name, value)
    generator = np.random.default_rng(case)
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", int(generator.choice([50, 1 << 20])))
    size = int(generator.choice([1, 2, 33, 300, 900, 2500]))
    ids = KINDS[case % len(KINDS)](generator, size + 3).astype(np.uint32)[case % 4 :][:size]  # at any address
    offsets, weights = drawn_segments(generator, size)
    expected = pair_histogram(ids, offsets, weights)
    assert rows(pair_histogram(ids, offsets, weights, device="emulated")) == rows(expected)


@kernels_only
def test_buckets_of_any_size(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the sizes of a device: a pair of 90 %, and more pairs in a bucket than its table has slots."""
    monkeypatch.setitem(device_pairs.TUNING, "part_positions", 1000)
    monkeypatch.setitem(device_pairs.TUNING, "bucket_slots", 8)
    generator = np.random.default_rng(5)
    for draw in (hot, distinct):
        ids = draw(generator, 12_000).astype(np.uint32)
        assert rows(pair_histogram(ids, device=backend.kind)) == reference([ids.tolist()])


@kernels_only
def test_a_bucket_of_more_than_16_bits(backend: Backend) -> None:
    """A block's count of a bucket has 16 bits, of which the highest goes to the device's count."""
    ids = np.zeros(80_000, np.uint32)
    assert rows(pair_histogram(ids, device=backend.kind)) == [(0, 0, 79_999)]


@kernels_only
def test_hot_pairs_of_a_sample(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frequent in the sample is rare, or missing, behind it; and the other way round."""
    monkeypatch.setitem(device_pairs.TUNING, "threads", 32)
    monkeypatch.setitem(device_pairs.TUNING, "hot_slots", 512)
    monkeypatch.setitem(device_pairs.TUNING, "sampled_part", 4)
    generator = np.random.default_rng(6)
    frequent, rare = generator.integers(0, 20, 8 * 512), generator.integers(100, 120, 8 * 512)
    tiles = [frequent[:512] if tile % 4 == 0 else rare[tile * 512 :][:512] for tile in range(8)]
    for ids in (np.concatenate(tiles), np.concatenate([*tiles, frequent, [2**17 - 1, 2**18 - 1, 2**18, WIDE, 0]])):
        tokens = ids.astype(np.uint32)
        assert rows(pair_histogram(tokens, device=backend.kind)) == reference([tokens.tolist()])


def pairs_of_like_hashes(size: int) -> NDArray[np.uint32]:
    """Pairs of one bucket whose shares agree in all but the lowest bits: inverse of buckets.hpp and codes.hpp."""
    scale = pow(0x86659FD93 & WIDE, -1, 1 << 32)
    pairs = []
    for number in count():
        rest = number * scale & WIDE
        if rest >> 26 != 3:  # the bucket within its coarse one, 5
            continue
        hash_bits, above, right = 5 << 9 | rest >> 22, rest >> 18 & 15, rest & 2**18 - 1
        mixed = right * 0x9E3779B1 + above * 0x85EBCA77 & WIDE
        mixed = (mixed ^ mixed >> 15) * 0x2C1B3C6D & WIDE
        pairs.append((above << 14 | hash_bits ^ (mixed >> 16 ^ mixed >> 8) & 2**14 - 1, right))
        if len(pairs) == size:
            return np.array(pairs, np.uint32)
    raise AssertionError


def test_pairs_of_like_hashes_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of them is halved a dozen times; what follows is taken at once, not in as many shares."""
    module("_emulated").set_seed(0)
    monkeypatch.setitem(device_pairs.TUNING, "bucket_slots", 16)
    ids = pairs_of_like_hashes(60).ravel()
    offsets = np.arange(0, len(ids) + 1, 2)
    histogram = pair_histogram(ids, offsets, device="emulated")
    assert rows(histogram) == rows(pair_histogram(ids, offsets))
    assert len(histogram) == 60


class SmallMemory:
    """Memory of which one array may take ``limit`` bytes; notes what the arrays of a round asked for."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.asked: list[int] = []

    def allocate(self, size: int, purpose: str) -> NDArray[np.uint8]:
        if purpose == "the pairs of a round" and size > 100_000:  # sums of rounds take less
            self.asked.append(size)
        if size > self.limit:
            raise MemoryError(f"{size} bytes for {purpose}")
        return np.empty(size, np.uint8)


def counted(ids: Ids, memory: SmallMemory) -> PairHistogram:
    counter = module("_emulated").PairCounter("partition", memory.allocate, 0, {"threads": 512, "bucket_slots": 64})
    counter.add(ids)
    size = counter.order()
    columns = [np.empty(size, dtype) for dtype in (np.uint32, np.uint32, np.uint64)]
    counter.write(*columns)
    return PairHistogram(*columns)


def test_rounds_halve_where_memory_is_short() -> None:
    ids = (np.arange(140_001) % 7).astype(np.uint32)
    memory = SmallMemory(500_000)
    histogram = counted(ids, memory)
    assert rows(histogram) == [(a, (a + 1) % 7, 20_000) for a in range(7)]
    # A round that fails, one whose rows do not fit either, four that do: each takes 4 bytes a position, and sizes.
    positions = [140_000, 70_000, *[35_000] * 4]
    assert [0 < asked - 4 * count < 40_000 for asked, count in zip(memory.asked, positions, strict=True)] == [True] * 6


def test_too_little_memory_is_an_error_with_the_figure() -> None:
    ids = (np.arange(140_001) % 7).astype(np.uint32)
    with pytest.raises(MemoryError, match=r"^\d{6} bytes for the pairs of a round$"):
        counted(ids, SmallMemory(100_000))


def test_a_table_of_frequent_pairs_that_does_not_fit_is_tried_again() -> None:
    """In a smaller round, with another sample; and nothing that was half made is used."""
    ids = (np.arange(140_001) % 7).astype(np.uint32)
    asked: list[str] = []

    def allocate(size: int, purpose: str) -> NDArray[np.uint8]:
        asked.append(purpose)
        if purpose == "the most frequent pairs" and asked.count(purpose) == 3:  # tags, counts, and how they rank
            raise MemoryError(f"{size} bytes for {purpose}")
        return np.full(size, 0xA5, np.uint8)

    counter = module("_emulated").PairCounter("partition", allocate, 0, {"threads": 64, "hot_slots": 512})
    counter.add(ids)
    assert asked.count("the most frequent pairs") == 6
    size = counter.order()
    columns = [np.empty(size, dtype) for dtype in (np.uint32, np.uint32, np.uint64)]
    counter.write(*columns)
    assert rows(PairHistogram(*columns)) == [(a, (a + 1) % 7, 20_000) for a in range(7)]
