"""What the pair histogram refuses, by every backend: the error names the place and the limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import Backend, backend, module
from pair_counts import count, every_backend, kernels_only, small, tensor, where
from pyharness.kernels import device_pairs, pair_histogram
from pyharness.kernels.arrays import Device, library_of
from pyharness.kernels.place import stream_handle
from pyharness.types import InputError

__all__ = ["backend", "small"]  # the fixtures


@every_backend
def test_what_does_not_fit_is_refused(backend: Backend) -> None:
    ids, here = np.zeros(4, np.uint32), where(backend)
    bad_offsets: list[tuple[list[int], str]] = [
        ([], "at least one"),
        ([1, 4], "start at 0"),
        ([0, 5], "must end at 4"),
        ([0, 3], "must end at 4"),
        ([0, 3, 2, 4], r"must not fall: offsets\[2\] = 2 after 3"),
        ([0, 5, 4], "must not fall"),
    ]
    for offsets, message in bad_offsets:
        with pytest.raises(ValueError, match=message):
            pair_histogram(ids, np.array(offsets, np.int64), **here)
    with pytest.raises(ValueError, match="weights must hold 1"):
        pair_histogram(ids, weights=np.ones(2, np.uint64), **here)
    with pytest.raises(ValueError, match="weights must hold 2"):
        pair_histogram(ids, np.array([0, 2, 4]), np.ones(1, np.uint64), **here)
    with pytest.raises(ValueError, match=r"negative: weights\[0\] = -1"):
        pair_histogram(ids, weights=np.array([-1]), **here)
    with pytest.raises(TypeError, match="uint32"):
        pair_histogram(ids.astype(np.int64), **here)
    with pytest.raises(TypeError, match="int64"):
        pair_histogram(ids, np.array([0, 4], np.int32), **here)
    with pytest.raises(TypeError, match="64"):
        pair_histogram(ids, weights=np.ones(1, np.float64), **here)
    with pytest.raises(ValueError, match="one dimension"):
        pair_histogram(ids.reshape(2, 2), **here)
    with pytest.raises(InputError, match=r"tokens.*array"):
        pair_histogram([1, 2, 3], **here)


@kernels_only
def test_bad_tensors_are_refused(backend: Backend) -> None:
    ids, here = tensor(backend, [1, 2, 3, 4], "int32"), where(backend)
    bad_offsets: list[tuple[list[int], str]] = [
        ([1, 4], "start at 0"),
        ([0, 5], "must end at 4"),
        ([0, 3, 2, 4], r"must not fall: offsets\[2\] = 2 after 3"),
        ([0, -(2**63), 2**63 - 1, 4], "must not fall"),
    ]
    for offsets, message in bad_offsets:
        with pytest.raises(ValueError, match=message):
            pair_histogram(ids, tensor(backend, offsets, "int64"), **here)
    two = tensor(backend, [0, 2, 4], "int64")
    with pytest.raises(ValueError, match=r"negative: weights\[1\] = -1"):
        pair_histogram(ids, two, tensor(backend, [1, -1], "int64"), **here)
    with pytest.raises(ValueError, match=r"weights .* 2\b"):
        pair_histogram(ids, two, tensor(backend, [1], "int64"), **here)
    with pytest.raises(ValueError, match="64 bits"):
        pair_histogram(ids, tensor(backend, [0, 4], "int64"), tensor(backend, [2**63 - 1], "int64"), **here)
    with pytest.raises(ValueError, match="contiguous"):
        pair_histogram(ids[::2], **here)
    with pytest.raises(TypeError, match="not int16"):
        pair_histogram(tensor(backend, [1, 2], "int16"), **here)
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="grad"):
        pair_histogram(torch.ones(3, requires_grad=True), **here)


@kernels_only
def test_sums_of_weights_near_64_bits(backend: Backend) -> None:
    """Of one thread, which takes every 4,096th segment here, and of several."""
    segments, largest = 5000, 2**63 - 1
    ids, offsets = tensor(backend, [1, 2] * segments, "int32"), tensor(backend, range(0, 2 * segments + 1, 2), "int64")
    for heavy, fits in (((0, 4096), True), ((0, 1), True), ((0, 4096, 9), False), ((0, 1, 4096), False)):
        weights = [0] * segments
        for segment in heavy:
            weights[segment] = largest
        there = tensor(backend, weights, "int64")
        if fits:
            histogram: Any = pair_histogram(ids, offsets, there, **where(backend))
            (total,) = histogram.count.cpu().numpy().tolist()
            assert total == 2 * largest
        else:
            with pytest.raises(ValueError, match="64 bits"):
                pair_histogram(ids, offsets, there, **where(backend))


def test_a_stream_that_is_no_handle_is_refused() -> None:
    counter = module("_emulated").PairCounter("partition", lambda size, _: np.empty(size, np.uint8))
    with pytest.raises(ValueError, match=r"stream.*-1"):
        counter.order(-1)


@kernels_only
def test_dense_names_the_id_that_is_too_large(backend: Backend, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", 40)
    for position in (0, 50, 99):
        ids = [63] * 100
        ids[position] = 64
        with pytest.raises(ValueError, match=rf"tokens\[{position}\] = 64.*below 64; use method 'partition'"):
            count(backend, ids, method="dense")


def test_where_and_how() -> None:
    ids = np.zeros(4, np.uint32)
    with pytest.raises(InputError, match=r"method 'partitoin'.*'partition'"):
        pair_histogram(ids, method="partitoin")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"method 'sort'.*CUDA"):
        pair_histogram(ids, method="sort")
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        pair_histogram(ids, device="gpu")
    for device in ("cpu", "emulated"):
        if device == "emulated":
            module("_emulated")
        with pytest.raises(InputError, match=r"stream.*CUDA"):
            pair_histogram(ids, device=device, stream=1)
    cuda = Device(is_cuda=True, number=0)
    with pytest.raises(InputError, match=r"stream.*cuda:1\b"):
        stream_handle(SimpleNamespace(device_id=1, ptr=5), library_of(ids, device_pairs.HOST), cuda)


def test_cuda_without_a_device_says_why() -> None:
    from pyharness.kernels.devices import CudaUnavailable, cuda_reason

    if cuda_reason() is None:
        pytest.skip("there is a CUDA device")
    with pytest.raises(CudaUnavailable):
        pair_histogram(np.zeros(4, np.uint32), device="cuda")


def test_a_round_that_does_not_fit_says_what_it_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    module("_emulated")
    library = type(library_of(np.zeros(1), device_pairs.HOST))
    empty = library.empty

    def limited(self: Any, shape: tuple[int, ...], dtype: str, device: Any) -> Any:
        if shape[0] > 1 << 16:
            raise MemoryError
        return empty(self, shape, dtype, device)

    monkeypatch.setattr(library, "empty", limited)
    with pytest.raises(MemoryError, match=r"[\d,]{6,} .*bytes.*cpu.*pairs.* [\d,]+ "):
        pair_histogram(np.arange(20_000, dtype=np.uint32), device="emulated")
