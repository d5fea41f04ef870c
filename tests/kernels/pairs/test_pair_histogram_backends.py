"""Pair histograms of every backend against the definition: segments, weights, extreme ids, growing tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import Backend, backend, module
from layout.thoroughness import examples
from pair_counts import (
    METHODS,
    SMALL,
    WIDE,
    count,
    every_backend,
    every_method,
    kernels_only,
    one_seed,
    reference,
    rows,
    small,
    where,
)
from pyharness.kernels import PairHistogram, device_pairs, pair_histogram
from pyharness.types import Tokens

__all__ = ["backend", "small"]  # the fixtures


def random_case(case: int) -> tuple[list[list[int]], list[int] | None, dict[str, int], int]:
    """Documents, weights, tuning and chunk size of a case."""
    generator = np.random.default_rng(case)
    size, limit = int(generator.choice([0, 1, 2, 40, 300, 1500])), int(generator.choice([1, 2, 9, 60]))
    ids = np.minimum(generator.zipf(1.4, size) - 1, limit - 1)
    cuts = np.sort(generator.integers(0, size + 1, int(generator.choice([0, 2, 60]))))
    documents = [part.tolist() for part in np.split(ids, cuts)]
    weights = generator.integers(0, generator.choice([2, 2**40]), len(documents)).tolist() if case % 2 else None
    tuning = {
        "threads": int(generator.choice([32, 96])),
        "cache_slots": int(generator.choice([8, 64])),
        "bucket_bits": int(generator.choice([10, 14])),
        "bucket_slots": int(generator.choice([2, 8, 4096])),
        "hot_slots": int(generator.choice([0, 514])),
        "sampled_part": int(generator.choice([1, 2])),
        "part_positions": int(generator.choice([5, 1000])),
        "positions_per_round": int(generator.choice([50, 1 << 20])),
        "dense_ids": 60,
    }
    return documents, weights, tuning, int(generator.choice([37, 400, 1 << 20]))


@every_backend
@pytest.mark.parametrize("case", range(examples(50)))
def test_random_cases(backend: Backend, case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 on the CPU and 50 per seed of the emulator, where cases take turns over the methods."""
    case += 50 * (0 if backend.kind != "emulated" else 1 + int(backend.variant))
    documents, weights, tuning, chunk = random_case(case)
    for name, value in tuning.items():
        monkeypatch.setitem(device_pairs.TUNING, name, value)
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", chunk)
    method = METHODS[case % 3]
    if method != "dense":  # spread the ids over all of their range
        documents = [[(n * 0x9E3779B1) & WIDE for n in document] for document in documents]
    tokens = Tokens.from_lists(documents)
    array = None if weights is None else np.array(weights, np.uint64)
    answer = pair_histogram(tokens.ids, tokens.offsets, array, **where(backend, method))
    assert rows(answer) == reference(documents, weights)
    assert [column.dtype.name for column in (answer.left, answer.right, answer.count)] == ["uint32", "uint32", "uint64"]


segments = st.lists(
    st.lists(st.one_of(st.integers(0, 3), st.sampled_from([2**31, WIDE - 1, WIDE])), max_size=9), max_size=12
)


@one_seed
@pytest.mark.parametrize("method", ["partition", "sort"])
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(documents=segments, chunk=st.integers(1, 40), data=st.data())
def test_segments_and_weights(
    backend: Backend,
    method: str,
    small: None,
    monkeypatch: pytest.MonkeyPatch,
    documents: list[list[int]],
    chunk: int,
    data: st.DataObject,
) -> None:
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", chunk)
    tokens = Tokens.from_lists(documents)
    here = where(backend, method)
    assert rows(pair_histogram(tokens.ids, **here)) == reference([tokens.ids.tolist()])
    assert rows(pair_histogram(tokens.ids, tokens.offsets, **here)) == reference(documents)
    weights = data.draw(st.lists(st.integers(0, 2**50), min_size=len(documents), max_size=len(documents)))
    weighted = pair_histogram(tokens.ids, tokens.offsets, np.array(weights, np.int64), **here)
    assert rows(weighted) == reference(documents, weights)


@kernels_only
@every_method
def test_all_pairs_equal_and_all_different(backend: Backend, method: str, small: None) -> None:
    assert count(backend, [5] * 1000, method=method) == [(5, 5, 999)]
    # Every pair of 32 ids once, as a walk through the complete graph: more pairs than the cache and the table hold.
    walk = [node for gap in range(1, 32, 2) for node in ((step * gap) % 32 for step in range(32))]
    assert count(backend, walk, method=method) == reference([walk])


@kernels_only
@pytest.mark.parametrize("method", ["partition", "sort"])
def test_the_largest_and_the_smallest_id(backend: Backend, method: str, small: None) -> None:
    """A free slot is no pair: neither (0, 0) nor the pair of the two largest ids."""
    ids = [WIDE] * 70 + [0] * 65 + [WIDE, 0, WIDE, WIDE]
    assert count(backend, ids, method=method) == reference([ids])
    assert count(backend, [WIDE, WIDE], method=method) == [(WIDE, WIDE, 1)]
    assert count(backend, [0, 0], method=method) == [(0, 0, 1)]


@kernels_only
@every_method
def test_chunks_end_anywhere(backend: Backend, method: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [[1, 2, 1], [], [2], [1, 2, 2, 2, 3], [], []]
    tokens, weights = Tokens.from_lists(documents), [3, 9, 9, 2**40, 9, 9]
    for chunk in range(1, len(tokens.ids) + 2):
        monkeypatch.setattr(device_pairs, "MOST_POSITIONS", chunk)
        answer = pair_histogram(tokens.ids, tokens.offsets, np.array(weights, np.uint64), **where(backend, method))
        assert rows(answer) == reference(documents, weights), f"chunks of {chunk}"


@every_backend
@every_method
def test_nothing_to_count(backend: Backend, method: str, small: None) -> None:
    for ids, offsets in (([], None), ([], [0]), ([], [0, 0]), ([7], None), ([7], [0, 1]), ([7, 8], [0, 0, 1, 2])):
        array = None if offsets is None else np.array(offsets)
        assert count(backend, ids, array, method=method) == []
    assert count(backend, [1, 2, 3], np.array([0, 3]), np.zeros(1, np.uint64), method=method) == []


@every_backend
@every_method
def test_weights_near_64_bits(backend: Backend, method: str, small: None) -> None:
    ids, offsets = [5, 6, 5, 6, 7], np.array([0, 2, 5])
    assert count(backend, ids, offsets, np.array([2**63, 1], np.uint64), method=method) == [
        (5, 6, 2**63 + 1),
        (6, 7, 1),
    ]
    largest = np.array([2**64 - 1], np.uint64)
    assert count(backend, [5, 6], None, largest, method=method) == [(5, 6, 2**64 - 1)]
    for weights in ([2**63, 2**63], [2**64 - 1, 1], [0, 2**63]):
        with pytest.raises(ValueError, match="64 bits"):
            count(backend, ids, offsets, np.array(weights, np.uint64), method=method)


@every_method
def test_positions_beyond_32_bits(method: str) -> None:
    """The last chunk of a corpus that no test can hold: positions and offsets near 2^40."""
    emulated, far = module("_emulated"), 2**40
    ids, weights = np.array([1, 2, 1, 2, 2, 1, 2], np.uint32), np.array([7, 2, 2**33], np.uint64)
    counter = emulated.PairCounter(method, lambda size, _: np.empty(size, np.uint8), 0, SMALL)
    counter.add(ids, far, np.array([0, far - 5, far + 3, far + 7]), weights)
    size = counter.order()
    columns = [np.empty(size, dtype) for dtype in (np.uint32, np.uint32, np.uint64)]
    counter.write(*columns)
    assert rows(PairHistogram(*columns)) == reference([ids[:3].tolist(), ids[3:].tolist()], [2, 2**33])
