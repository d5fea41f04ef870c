"""Pair histograms by the kernels: of a CUDA device, or emulated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pyharness.kernels.arrays.arrays import describe
from pyharness.kernels.arrays.libraries import Device, library_of
from pyharness.kernels.arrays.place import Place, module_for, stream_handle
from pyharness.kernels.pairs.chunks import Chunk, Segments, chunk_positions, host_chunks, narrowed_chunks
from pyharness.kernels.pairs.pair_histogram import bad_id, on_host
from pyharness.kernels.pairs.uploads import uploads_for
from pyharness.types import InputError, Unsupported

HOST = Device(is_cuda=False, number=0)
SORTED_BYTES = 40  # per position of method "sort": two arrays of keys and two of weights, and what CUB needs


class PairWorkspace:
    """Where the kernels compute, and the memory that they ask for: from the library's pool, on the stream."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def on_stream(self) -> AbstractContextManager[Any]:
        """Within it the library allocates for the stream, so that freed memory is reused in its order."""
        place = self.place
        return nullcontext() if place.stream is None else place.library.on_stream(place.device, place.stream)

    def allocate(self, size: int, purpose: str) -> Any:
        """``size`` bytes; what ``purpose`` says is for the error."""
        return self.empty(size, "uint8", purpose)

    def empty(self, size: int, dtype: str, purpose: str) -> Any:
        """A new array [size]."""
        place = self.place
        try:
            return place.library.empty((size,), dtype, place.device)
        except (MemoryError, RuntimeError) as error:  # torch: RuntimeError, "CUDA out of memory"
            if isinstance(error, RuntimeError) and "memory" not in str(error):
                raise
            needed, free = size * np.dtype(dtype).itemsize, place.library.free_bytes(place.device)
            raise MemoryError(
                f"pair_histogram needs {needed:,} more bytes on {place.device} for {purpose}, and {free:,} are free: "
                "count parts of the corpus, or use device='cpu'"
            ) from error

    def upload(self, array: Any, purpose: str) -> Any:
        """A copy of a host array here."""
        copy = self.empty(array.size, array.dtype.name, purpose)
        self.place.module.copy_array(copy, array, self.place.stream)
        return copy

    def download(self, array: Any, dtype: str) -> Any:
        """A copy on the host."""
        copy = np.empty(len(array), dtype)
        self.place.module.copy_array(copy, array, self.place.stream)
        return copy


def count_on_device(
    tokens: Any, offsets: Any, weights: Any, method: str, kernels: str | Device, stream: Any
) -> tuple[Any, Any, Any]:
    """Left ids, right ids and counts, as :func:`pyharness.kernels.pairs.pair_histogram` returns them."""
    workspace = PairWorkspace(_place(tokens, kernels, stream))
    place = workspace.place
    streamed = isinstance(tokens, np.ndarray)
    with workspace.on_stream():
        free = place.library.free_bytes(place.device)
        # Half of what is free: rows of earlier rounds, and the ordering of all rows, want memory too.
        tuning = {"positions_per_round": max(1 << 16, min(1 << 30, free // 2 // SORTED_BYTES))}
        counter = place.module.PairCounter(
            "hash" if method == "auto" else method, workspace.allocate, place.device.number, tuning | TUNING
        )
        chunks = _streamed if streamed else _resident
        for chunk in chunks(tokens, offsets, weights, workspace, free):
            counter.add(chunk.tokens, chunk.first, chunk.offsets, chunk.weights, place.stream)
        rows = counter.order(place.stream)
        columns = [workspace.empty(rows, dtype, "the result") for dtype in ("uint32", "uint32", "uint64")]
        counter.write(*columns, place.stream)
        if streamed:
            columns = [workspace.download(column, column.dtype.name) for column in columns]
    left, right, count = columns
    return left, right, count


TUNING: dict[str, int] = {}  # sizes of launches and tables that tests change; results do not depend on them


def _place(tokens: Any, kernels: str | Device, stream: Any) -> Place:
    if isinstance(kernels, Device):
        module = module_for(kernels)  # first: without a device its reason is the error
        library = library_of(tokens, kernels)
        return Place(module, library, kernels, stream_handle(stream, library, kernels), 1)
    try:
        from pyharness import _emulated
    except ImportError:
        raise Unsupported("device 'emulated' is not in this build: editable installs have it") from None
    return Place(_emulated, library_of(tokens, HOST), HOST, stream_handle(stream, library_of(tokens, HOST), HOST), 1)


def _streamed(tokens: Any, offsets: Any, weights: Any, workspace: PairWorkspace, free: int) -> Iterator[Chunk]:
    if tokens.ndim != 1:
        raise ValueError("tokens must have one dimension")
    if tokens.dtype != np.uint32:
        raise TypeError(f"tokens must have dtype uint32, not {tokens.dtype}")
    segments = Segments.on_host(
        None if offsets is None else on_host(offsets, "offsets"),
        None if weights is None else on_host(weights, "weights"),
        len(tokens),
    )
    size = chunk_positions(free, len(tokens), segments)
    yield from host_chunks(tokens, segments, size, uploads_for(workspace))


def _resident(tokens: Any, offsets: Any, weights: Any, workspace: PairWorkspace, free: int) -> Iterator[Chunk]:
    info = describe(tokens, "tokens")
    if len(info.shape) != 1 or (info.shape[0] > 1 and info.strides != (1,)):
        raise ValueError("tokens must have one dimension and be contiguous: copy them first")
    if info.dtype not in ("uint32", "int32", "int64"):
        raise TypeError(f"tokens must hold uint32, int32 or int64, not {info.dtype}")
    size, place = info.shape[0], workspace.place
    tokens = place.library.own(tokens)
    if offsets is not None or weights is not None:
        offsets = np.array([0, size], np.int64) if offsets is None else offsets
        offsets, weights = _here(offsets, "offsets", workspace), _here(weights, "weights", workspace)
        place.module.check_segments(offsets, weights, size, workspace.allocate, place.stream)
    if info.dtype == "int64":
        yield from narrowed_chunks(tokens, offsets, weights, chunk_positions(free, size, None), workspace)
        return
    if info.dtype == "int32":
        bad = place.module.find_bad_id(tokens, None, workspace.allocate, place.stream)
        if bad >= 0:
            raise bad_id(bad, int(tokens[bad]))
    yield Chunk(tokens, 0, offsets, weights)


def _here(array: Any, name: str, workspace: PairWorkspace) -> Any:
    """Offsets or weights where the tokens are: host arrays are copied there."""
    if array is None:
        return None
    where, here = describe(array, name).device, workspace.place.device
    if where == here:
        return array
    if where.is_cuda:
        raise InputError(f"{name} are on {where}, the tokens on {here}: move them there")
    return workspace.upload(np.ascontiguousarray(on_host(array, name)), name)
