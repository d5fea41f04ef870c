"""Where a call computes: the native module, the library that makes its arrays, the device, the stream, the threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.kernels.arrays import ArrayInfo, Device, Library, is_out_of_memory, library_of
from pyharness.system.environment import cores
from pyharness.types import InputError

ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "uint32": 4, "int64": 8, "uint64": 8}


def _load_cuda(device: int) -> ModuleType:
    from pyharness.kernels.devices import require_cuda

    return require_cuda(device)


# The modules for host and for device memory. Tests of the kernels replace the host's by the emulated module.
MODULES: dict[str, Callable[..., Any]] = {"cpu": lambda: _core, "cuda": _load_cuda}


def module_for(device: Device) -> Any:
    """Return the native module for a device; raise ``CudaUnavailable`` with the reason if it cannot be used."""
    return MODULES["cuda"](device.number) if device.is_cuda else MODULES["cpu"]()


def stream_handle(stream: Any, library: Library, device: Device) -> int | None:
    """Return the CUDA handle of ``stream``: an int, or a stream of torch, cupy or any ``__cuda_stream__``.

    None means the library's current stream; on the CPU there are no streams and the result is None.

    Raises:
        InputError: a stream for CPU arrays, a stream of another device, or an object that is no stream.
    """
    if not device.is_cuda:
        if stream is not None:
            raise InputError("stream is for CUDA arrays; these are on the CPU: leave it out")
        return None
    if stream is None:
        return library.stream_handle(device)
    if isinstance(stream, int):
        return stream
    # torch names the device `device_index`, cupy `device_id` (-1: of the current device).
    index = getattr(stream, "device_index", getattr(stream, "device_id", device.number))
    if index not in (-1, device.number):
        raise InputError(f"stream belongs to cuda:{index}, the arrays are on {device}: use a stream of that device")
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", None))
    if handle is None:
        raise InputError(f"stream must be a CUDA handle or a stream of torch or cupy, not {type(stream).__qualname__}")
    return int(handle)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one call; ``stream`` is None on the CPU. ``out_of_memory``: the message of a MemoryError."""

    module: Any
    library: Library
    device: Device
    stream: int | None
    threads: int
    out_of_memory: str = (
        "{purpose} needs {needed:,} bytes on {device}, of which {free:,} are free: pass fewer rows at a time"
    )

    @classmethod
    def of(cls, array: Any, info: ArrayInfo, stream: Any, threads: int | None) -> Place:
        """Return the place of an array.

        Raises:
            InputError: on the CPU, ``threads`` is not 1 to 1,024; or as :func:`stream_handle` and
                :meth:`refuse_capture`.
        """
        library = library_of(array, info.device)
        handle = stream_handle(stream, library, info.device)
        place = cls(module_for(info.device), library, info.device, handle, cores() if threads is None else threads)
        if place.module is _core and not 1 <= place.threads <= 1024:
            raise InputError(f"threads must be in 1..1024, not {place.threads}")
        if not library.keeps_memory_of_graphs:
            place.refuse_capture("only torch keeps the memory that a graph works in: pass torch tensors")
        return place

    @property
    def is_captured(self) -> bool:
        """Whether the stream is being captured into a graph."""
        return self.module is not _core and bool(self.module.is_capturing(self.stream))

    def refuse_capture(self, why: str) -> None:
        """Raise InputError if the stream is being captured into a graph; ``why`` also gives the remedy."""
        if self.is_captured:
            raise InputError(f"this call is being captured into a CUDA graph, and {why}")

    @property
    def options(self) -> dict[str, Any]:
        """Options of the native functions here, the same for all functions of a module."""
        if self.module is _core:
            return {"threads": self.threads}
        return {"stream": self.stream, "allocate": self.allocate}

    @contextmanager
    def using(self, *arrays: Any) -> Iterator[dict[str, Any]]:
        """Make the library work on the stream within the block; yield the options of the native functions.

        The stream first waits for the work enqueued on the library's current one, which made the arrays.
        """
        if self.stream is None:
            yield self.options
            return
        for array in arrays:
            self.library.keep(array, self.device, self.stream)
        with self.library.on_stream(self.device, self.stream):
            yield self.options

    def empty(self, shape: tuple[int, ...], dtype: str, purpose: str) -> Any:
        """Return a new array here; if memory runs out, raise a MemoryError with the needed bytes and their purpose."""
        try:
            return self.library.empty(shape, dtype, self.device)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            needed, free = math.prod(shape) * ITEM_BYTES[dtype], self.library.free_bytes(self.device)
            text = self.out_of_memory.format(purpose=purpose, needed=needed, device=self.device, free=free)
            raise MemoryError(text) from error

    def allocate(self, size: int, purpose: str) -> Any:
        """Allocate ``size`` bytes here: the kernels get their workspace from this."""
        return self.empty((size,), "uint8", purpose)

    def upload(self, array: NDArray[Any], purpose: str) -> Any:
        """Copy a host array to this place. Only for the modules of kernels."""
        copy = self.empty((array.size,), array.dtype.name, purpose)
        self.module.copy_array(copy, array, self.stream)
        return copy

    def download(self, array: Any, dtype: str) -> NDArray[Any]:
        """Copy an array to the host. Only for the modules of kernels."""
        copy = np.empty(len(array), dtype)
        self.module.copy_array(copy, array, self.stream)
        return copy
