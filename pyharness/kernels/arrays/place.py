"""Where a call computes: the native module, the library that makes its arrays, the device, the stream, the threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pyharness import _core
from pyharness.kernels.arrays.arrays import ArrayInfo
from pyharness.kernels.arrays.libraries import Device, Library, is_out_of_memory, library_of
from pyharness.system.environment import cores
from pyharness.types import InputError

ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "int64": 8}


def _load_cuda() -> ModuleType:
    from pyharness.kernels.arrays.devices import require_cuda

    return require_cuda()


# What works on host and on device memory. The tests of the kernels put the emulated module in the host's place.
MODULES: dict[str, Callable[[], Any]] = {"cpu": lambda: _core, "cuda": _load_cuda}


def module_for(device: Device) -> Any:
    """The native module for a device; raises ``CudaUnavailable`` with the reason where there is none."""
    return MODULES["cuda" if device.is_cuda else "cpu"]()


def stream_handle(stream: Any, library: Library, device: Device) -> int | None:
    """The CUDA handle of ``stream``: an int, or a stream of torch, cupy or anything with ``__cuda_stream__``.

    None means the library's current stream; on the CPU there are no streams and the result is None.

    Raises:
        InputError: a stream for CPU arrays, a stream of another device, or no stream at all.
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
    """One call's place; ``stream`` is None on the CPU."""

    module: Any
    library: Library
    device: Device
    stream: int | None
    threads: int

    @classmethod
    def of(cls, array: Any, info: ArrayInfo, stream: Any, threads: int | None) -> Place:
        """The place of an array."""
        library = library_of(array, info.device)
        if threads is None:
            threads = cores()
        handle = stream_handle(stream, library, info.device)
        return cls(module_for(info.device), library, info.device, handle, threads)

    @contextmanager
    def using(self, *arrays: Any) -> Iterator[dict[str, Any]]:
        """Within it the library works on the stream; gives the arguments that every native function takes.

        The stream first waits for what the library has enqueued on its current one: that made the arrays.
        """
        if self.stream is None:
            yield {"stream": None, "threads": self.threads}
            return
        for array in arrays:
            self.library.keep(array, self.device, self.stream)
        with self.library.on_stream(self.device, self.stream):
            yield {"stream": self.stream, "threads": self.threads}

    def empty(self, shape: tuple[int, ...], dtype: str, purpose: str) -> Any:
        """A new array here; where memory runs out, a MemoryError that says how much was needed and for what."""
        try:
            return self.library.empty(shape, dtype, self.device)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise MemoryError(
                f"{purpose} needs {math.prod(shape) * ITEM_BYTES[dtype]:,} bytes on {self.device}, of which "
                f"{self.library.free_bytes(self.device):,} are free: pass fewer rows at a time"
            ) from error
