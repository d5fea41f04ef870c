"""Chunks of host arrays on their way to a device."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import cycle
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels.pair_chunks import Chunk
from pyharness.kernels.place import Place
from pyharness.plugins.libraries import load
from pyharness.types import Unsupported

STAGING_THREADS = 4  # one copies slower than the bus takes; not measured on a GPU
STAGED_AT_ONCE = 1 << 22  # bytes: below that a thread costs more to wake than it saves


class Uploads(Protocol):
    """Copies that go on while the device counts: at most two chunks are between ``send`` and the end of their use."""

    def send(self, chunk: Chunk) -> Any:
        """Start to copy a chunk."""

    def receive(self, sent: Any) -> Chunk:
        """The chunk on the device, for work that is put on the stream from now on."""

    def close(self) -> None:
        """Wait for the chunks that were sent and not received."""


class DirectUploads:
    """Copies that are done when ``send`` returns, for the emulator."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def send(self, chunk: Chunk) -> Chunk:
        """Copy a chunk."""
        columns = (chunk.tokens, chunk.offsets, chunk.weights)
        tokens, offsets, weights = (None if c is None else self._place.upload(c, "a chunk") for c in columns)
        return Chunk(tokens, chunk.first, offsets, weights)

    def receive(self, sent: Chunk) -> Chunk:
        """Return the chunk, which is here already."""
        return sent

    def close(self) -> None:
        """Nothing is under way."""


class PinnedUploads:
    """Two slots of pinned and device memory, and a stream of their own for the copies."""

    def __init__(self, place: Place) -> None:
        purpose = "counting pairs of host memory on a CUDA device"
        cupy = load(purpose, "cupy", "cuda", error=Unsupported, otherwise="pass a CUDA tensor")
        self._copies = cupy.cuda.Stream(non_blocking=True)
        self._stream = cupy.cuda.ExternalStream(place.stream, place.device.number)
        self._pool = ThreadPoolExecutor(STAGING_THREADS, thread_name_prefix="staging")
        self._slots = cycle([_Slot(place, self._pool), _Slot(place, self._pool)])

    def send(self, chunk: Chunk) -> tuple[Chunk, Any]:
        """Put a chunk into pinned memory and start its copy; the event that ends it comes along."""
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
        """Put a host array into pinned memory; the device array that it will be copied to."""
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
    """Copy a column, in parts by the threads of ``pool``; numpy releases the interpreter while it copies."""
    parts = max(1, min(STAGING_THREADS, pinned.nbytes // STAGED_AT_ONCE))
    pairs = zip(np.array_split(pinned, parts), np.array_split(column, parts), strict=True)
    for done in [pool.submit(np.copyto, *pair) for pair in pairs]:
        done.result()


def uploads_for(place: Place) -> Uploads:
    """How chunks reach a place."""
    return PinnedUploads(place) if place.device.is_cuda else DirectUploads(place)
