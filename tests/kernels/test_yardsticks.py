"""The kernels that profiles hold ours against: sums are exact, so that nothing is unread; runs are the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import Backend, backend, module
from layout.thoroughness import examples
from pair_counts import every_method, kernels_only, one_seed, rows, small
from pyharness import kernels
from pyharness.kernels.arrays import Device
from pyharness.kernels.device_pairs import count_on_device

__all__ = ["backend", "small"]  # the fixtures

WORDS_OF_A_LOAD = 4
FIXTURE = (HealthCheck.function_scoped_fixture,)


def native(backend: Backend) -> Any:
    return module("_cuda" if backend.kind == "cuda" else "_emulated")


def allocate(backend: Backend) -> Any:
    return lambda size, purpose: backend.put(np.empty(size, np.uint8))


def added(backend: Backend, words: Any, before: int = 0) -> int:
    total = backend.put(np.array([before], np.uint64))
    native(backend).add_words(backend.put(words), total)
    return int(backend.get(total)[0])


@kernels_only
@pytest.mark.parametrize("loads", [0, 1, 31, 32, 511, 512, 513, 4096, 16_383, 16_384, 16_385, 40_000])
def test_every_word_is_read_once(backend: Backend, loads: int) -> None:
    """Of one block, of all at once (two multiprocessors of the emulator), and of more than one turn."""
    words = np.random.default_rng(loads).integers(0, 1 << 32, WORDS_OF_A_LOAD * loads, np.uint32)
    assert added(backend, words) == int(words.sum(dtype=np.uint64))


@one_seed
def test_a_sum_goes_on_and_any_dtype_is_words(backend: Backend) -> None:
    values = np.arange(8, dtype=np.float16).reshape(2, 4)
    assert added(backend, values, before=7) == 7 + int(values.reshape(-1).view(np.uint32).sum(dtype=np.uint64))
    assert added(backend, np.full(WORDS_OF_A_LOAD, 1, np.uint32), before=2**64 - 3) == 1


@one_seed
def test_what_cannot_be_read_in_whole_loads_is_refused(backend: Backend) -> None:
    words, total = (backend.put(np.zeros(size, dtype)) for size, dtype in ((12, np.uint32), (1, np.uint64)))
    for wrong, said in ((words[:3], "multiple of 16"), (words[1:5], "aligned to 16"), (words[::2], "contiguous")):
        with pytest.raises(ValueError, match=said):
            native(backend).add_words(wrong, total)
    with pytest.raises(TypeError, match="uint64"):
        native(backend).add_words(words, words[:1])


@one_seed
@pytest.mark.parametrize("cycles", [-1, 0, 1000])
def test_a_hold_ends(backend: Backend, cycles: int) -> None:
    native(backend).hold(cycles)


def counted(backend: Backend, ids: list[int], id_bits: int) -> list[tuple[int, int, int]]:
    runs = native(backend).PairRuns(backend.put(np.array(ids, np.uint32)), id_bits, allocate(backend))
    keys, counts = (backend.put(np.empty(len(runs), dtype)) for dtype in (np.uint64, np.uint32))
    runs.write(keys, counts)
    packed = backend.get(keys).tolist()
    assert packed == sorted(set(packed))
    low = (1 << id_bits) - 1
    return [(key >> id_bits, key & low, n) for key, n in zip(packed, backend.get(counts).tolist(), strict=True)]


def reference(ids: list[int]) -> list[tuple[int, int, int]]:
    histogram = kernels.pair_histogram(np.array(ids, np.uint32), device="cpu")
    columns = (column.tolist() for column in (histogram.left, histogram.right, histogram.count))
    return sorted(zip(*columns, strict=True))


@kernels_only
@settings(max_examples=examples(40), suppress_health_check=FIXTURE)
@given(st.data())
def test_runs_are_the_pairs_of_the_reference(backend: Backend, data: st.DataObject) -> None:
    bits = data.draw(st.integers(1, 32))
    few = st.integers(0, min(3, 2**bits - 1))
    ids = data.draw(st.lists(few | st.integers(0, 2**bits - 1), max_size=60))
    assert counted(backend, ids, bits) == reference(ids)


@kernels_only
def test_many_runs_are_those_of_the_reference(backend: Backend) -> None:
    """More tiles than blocks: 2,048 positions a tile, 16 blocks on the two multiprocessors of the emulator."""
    ids = (np.random.default_rng(3).zipf(1.3, 50_000) % 131_072).tolist()
    assert counted(backend, ids, 17) == reference(ids)


@one_seed
@pytest.mark.parametrize("id_bits", [0, 33])
def test_bits_are_those_of_an_id(backend: Backend, id_bits: int) -> None:
    with pytest.raises(ValueError, match="1 to 32"):
        counted(backend, [1, 2], id_bits)


@kernels_only
@every_method
def test_rows_in_no_order_are_the_same_rows(backend: Backend, method: str, small: None) -> None:
    ids = np.random.default_rng(4).integers(0, 9, 300).astype(np.uint32)
    where = Device(is_cuda=True, number=0) if backend.kind == "cuda" else "emulated"
    columns = count_on_device(backend.put(ids), None, None, method, where, None, ordered=False)
    found = rows(kernels.PairHistogram(*columns))
    assert sorted(found) == reference(ids.tolist())
