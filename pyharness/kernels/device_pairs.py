"""Pair histograms by the kernels, on a CUDA device or emulated, and transfer of host arrays in chunks.

Neighbouring chunks share one token: the right id of the last pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.kernels.arrays import Device, describe, library_of, on_host
from pyharness.kernels.place import Place, module_for, stream_handle
from pyharness.plugins.libraries import load
from pyharness.types import Ids, InputError, Offsets, Unsupported

HOST = Device(is_cuda=False, number=0)
OUT_OF_MEMORY = (
    "pair_histogram needs {needed:,} more bytes on {device} for {purpose}, and {free:,} are free: "
    "count parts of the corpus, or use device='cpu'"
)
# Bytes per position of a round. "sort": two arrays of keys, two of weights, and the workspace of CUB. "partition": the
# remainder of a pair, and nine eighths of a row; with weights those too, and rows of two words. Rounds halve where ids
# are too large for it.
SORTED_BYTES, PARTITIONED_BYTES, WEIGHTED_BYTES = 40, 13, 30


def count_on_device(
    tokens: Any, offsets: Any, weights: Any, method: str, kernels: str | Device, stream: Any, ordered: bool = True
) -> tuple[Any, Any, Any]:
    """Return left ids, right ids and counts, like :func:`pyharness.kernels.pair_histogram`, or in any order."""
    place = replace(_place(tokens, kernels, stream), out_of_memory=OUT_OF_MEMORY)
    place.refuse_capture("pair_histogram waits for the number of its rows: call it outside of the capture")
    streamed = isinstance(tokens, np.ndarray)
    with place.using():
        free = place.library.free_bytes(place.device)
        # Half of the free memory: rows of earlier rounds, and sorting all rows, need memory too.
        needed = SORTED_BYTES if method == "sort" else PARTITIONED_BYTES if weights is None else WEIGHTED_BYTES
        tuning = {"positions_per_round": max(1 << 16, min(1 << 30, free // 2 // needed))}
        counter = place.module.PairCounter(
            "partition" if method == "auto" else method, place.allocate, place.device.number, tuning | TUNING
        )
        chunks = _stream_chunks if streamed else _resident_chunks
        for chunk in chunks(tokens, offsets, weights, place, free):
            counter.add(chunk.tokens, chunk.first, chunk.offsets, chunk.weights, place.stream)
        rows = counter.order(place.stream, ordered)
        columns = [place.empty((rows,), dtype, "the result") for dtype in ("uint32", "uint32", "uint64")]
        counter.write(*columns, place.stream)
        if streamed:
            columns = [place.download(column, column.dtype.name) for column in columns]
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


def _stream_chunks(tokens: Any, offsets: Any, weights: Any, place: Place, free: int) -> Iterator[Chunk]:
    if tokens.ndim != 1:
        raise ValueError("tokens must have one dimension")
    if tokens.dtype != np.uint32:
        raise TypeError(f"tokens must have dtype uint32, not {tokens.dtype}")
    segments = HostSegments.on_host(
        None if offsets is None else on_host(offsets, "offsets"),
        None if weights is None else on_host(weights, "weights"),
        len(tokens),
    )
    size = chunk_positions(free, len(tokens), segments)
    yield from host_chunks(tokens, segments, size, uploads_for(place))


def _resident_chunks(tokens: Any, offsets: Any, weights: Any, place: Place, free: int) -> Iterator[Chunk]:
    info = describe(tokens, "tokens")
    if len(info.shape) != 1 or (info.shape[0] > 1 and info.strides != (1,)):
        raise ValueError("tokens must have one dimension and be contiguous: copy them first")
    if info.dtype not in ("uint32", "int32", "int64"):
        raise TypeError(f"tokens must hold uint32, int32 or int64, not {info.dtype}")
    size = info.shape[0]
    tokens = place.library.own(tokens)
    if offsets is not None or weights is not None:
        offsets = np.array([0, size], np.int64) if offsets is None else offsets
        offsets, weights = _here(offsets, "offsets", place), _here(weights, "weights", place)
        place.module.check_segments(offsets, weights, size, **place.options)
    if info.dtype == "int64":
        yield from narrowed_chunks(tokens, offsets, weights, chunk_positions(free, size, None), place)
        return
    if info.dtype == "int32":
        bad = place.module.find_bad_id(tokens, None, **place.options)
        if bad >= 0:
            raise bad_id(bad, int(tokens[bad]))
    yield Chunk(tokens, 0, offsets, weights)


def _here(array: Any, name: str, place: Place) -> Any:
    """Return offsets or weights on the tokens' device: host arrays are copied there."""
    if array is None:
        return None
    where, here = describe(array, name).device, place.device
    if where == here:
        return array
    if where.is_cuda:
        raise InputError(f"{name} are on {where}, the tokens on {here}: move them there")
    return place.upload(np.ascontiguousarray(on_host(array, name)), name)


STAGING_THREADS = 4  # a single one copies slower than the bus transfers; not measured on a GPU
STAGED_AT_ONCE = 1 << 22  # bytes: below that, waking a thread costs more than it saves


class Uploads:
    """Copies: synchronous ones, for the emulator. At most two chunks are between ``send`` and the end of their use."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def send(self, chunk: Chunk) -> Any:
        """Start to copy a chunk."""
        columns = (chunk.tokens, chunk.offsets, chunk.weights)
        tokens, offsets, weights = (None if c is None else self._place.upload(c, "a chunk") for c in columns)
        return Chunk(tokens, chunk.first, offsets, weights)

    def receive(self, sent: Any) -> Chunk:
        """Return the chunk on the device, for work enqueued on the stream from now on."""
        return sent  # type: ignore[no-any-return]

    def close(self) -> None:
        """Wait for the chunks that were sent and not received."""


class PinnedUploads(Uploads):
    """Two slots of pinned and device memory, and a separate stream for the copies."""

    def __init__(self, place: Place) -> None:
        purpose = "counting pairs of host memory on a CUDA device"
        cupy = load(purpose, "cupy", "cuda", error=Unsupported, otherwise="pass a CUDA tensor")
        self._copies = cupy.cuda.Stream(non_blocking=True)
        self._stream = cupy.cuda.ExternalStream(place.stream, place.device.number)
        self._pool = ThreadPoolExecutor(STAGING_THREADS, thread_name_prefix="staging")
        self._slots = cycle([_Slot(place, self._pool), _Slot(place, self._pool)])

    def send(self, chunk: Chunk) -> tuple[Chunk, Any]:
        """Put a chunk into pinned memory and start its copy; return it with the event that ends the copy."""
        slot = next(self._slots)  # free: the counter has waited for the chunk that was in it
        columns = (chunk.tokens, chunk.offsets, chunk.weights)
        tokens, offsets, weights = (slot.stage(index, column) for index, column in enumerate(columns))
        # Earlier work of the stream may still use this device memory.
        self._copies.wait_event(self._stream.record())
        slot.start(self._copies)
        return Chunk(tokens, chunk.first, offsets, weights), slot.copied

    def receive(self, sent: tuple[Chunk, Any]) -> Chunk:
        """Make the stream wait for the copy, not the host."""
        chunk, copied = sent
        self._stream.wait_event(copied)
        return chunk

    def close(self) -> None:
        """Wait for the copies: their memory goes back to the pools now."""
        self._pool.shutdown()
        self._copies.synchronize()


class _Slot:
    def __init__(self, place: Place, pool: Executor) -> None:
        import cupy

        self._pool = pool
        self.copied = cupy.cuda.Event(disable_timing=True)
        self._place = place
        self._pinned: dict[int, NDArray[Any]] = {}
        self._device: dict[int, Any] = {}
        self._staged: list[tuple[Any, NDArray[Any]]] = []

    def stage(self, index: int, column: NDArray[Any] | None) -> Any:
        """Copy a host array into pinned memory; return its future device array."""
        if column is None:
            return None
        if index not in self._pinned or len(self._pinned[index]) < len(column):
            import cupyx

            self._pinned[index] = cupyx.empty_pinned(len(column), column.dtype)
            self._device[index] = self._place.empty((len(column),), column.dtype.name, "a chunk")
        pinned, device = self._pinned[index][: len(column)], self._device[index][: len(column)]
        stage(pinned, column, self._pool)
        self._staged.append((device, pinned))
        return device

    def start(self, stream: Any) -> None:
        for device, pinned in self._staged:
            device.set(pinned, stream=stream)
        self._staged.clear()
        self.copied.record(stream)


def stage(pinned: NDArray[Any], column: NDArray[Any], pool: Executor) -> None:
    """Copy a column, in parts by the threads of ``pool``; numpy releases the interpreter lock while it copies."""
    parts = max(1, min(STAGING_THREADS, pinned.nbytes // STAGED_AT_ONCE))
    pairs = zip(np.array_split(pinned, parts), np.array_split(column, parts), strict=True)
    for copy in [pool.submit(np.copyto, *pair) for pair in pairs]:
        copy.result()


def uploads_for(place: Place) -> Uploads:
    """Return the kind of uploads to a place."""
    return PinnedUploads(place) if place.device.is_cuda else Uploads(place)


MOST_POSITIONS = 1 << 26  # of a chunk: 256 MiB of ids; larger copies are no faster


def bad_id(position: int, value: int) -> ValueError:
    """Return the error for an id that does not fit uint32."""
    return ValueError(f"tokens[{position}] = {value} is not an id: ids are 0..{0xFFFFFFFF}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Arrays on the host or device: ``tokens[i]`` is at position ``first + i`` of the corpus; offsets are positions."""

    tokens: Any
    first: int
    offsets: Any
    weights: Any


@dataclass(frozen=True, slots=True)
class HostSegments:
    """Checked segments on the host."""

    offsets: Offsets | None
    weights: NDArray[Any] | None  # int64 or uint64

    @classmethod
    def on_host(cls, offsets: Any, weights: Any, total: int) -> HostSegments:
        """Check segments with the core, whose messages are kept."""
        if offsets is None and weights is None:
            return cls(None, None)
        offsets = np.array([0, total], np.int64) if offsets is None else offsets
        _core.check_segments(offsets, weights, total)
        return cls(offsets, weights)

    def within(self, first: int, last: int) -> tuple[Offsets | None, NDArray[Any] | None]:
        """Return the segments that contain the positions ``first``..``last - 1``."""
        if self.offsets is None:
            return None, None
        low = int(np.searchsorted(self.offsets, first, "right")) - 1
        high = int(np.searchsorted(self.offsets, last - 1, "right"))
        return self.offsets[low : high + 1], None if self.weights is None else self.weights[low:high]


def chunk_positions(free: int, size: int, segments: HostSegments | None) -> int:
    """Return the positions per chunk: two chunks take at most a quarter of the free memory, or one position each."""
    ends = 0 if segments is None or segments.offsets is None else len(segments.offsets)
    bytes_per_position = 2 * (4 + 16 * ends / max(1, size))
    return max(1, min(MOST_POSITIONS, int(free / 4 / bytes_per_position)))


def host_chunks(tokens: Ids, segments: HostSegments, size: int, uploads: Any) -> Iterator[Chunk]:
    """Yield the corpus in chunks of ``size`` positions, each copied to the device while the previous one is counted."""
    try:
        sent = None
        for first in range(0, len(tokens), size):
            part = tokens[first : first + size + 1]
            earlier, sent = sent, uploads.send(Chunk(part, first, *segments.within(first, first + len(part))))
            if earlier is not None:
                yield uploads.receive(earlier)
        if sent is not None:
            yield uploads.receive(sent)
    finally:
        uploads.close()


def narrowed_chunks(tokens: Any, offsets: Any, weights: Any, size: int, place: Place) -> Iterator[Chunk]:
    """Yield int64 tokens of the device as uint32, chunk by chunk in the same memory."""
    narrow = place.empty((min(size + 1, len(tokens)),), "uint32", "a chunk of ids")
    for first in range(0, len(tokens), size):
        part = tokens[first : first + size + 1]
        ids = narrow[: len(part)]
        bad = place.module.find_bad_id(part, ids, **place.options)
        if bad >= 0:
            raise bad_id(first + bad, int(part[bad]))
        yield Chunk(ids, first, offsets, weights)
