"""Memory, events and marks of a CUDA device, by cupy or by torch: what a profile needs, except for kernels."""

from __future__ import annotations

from typing import Any

from pyharness.features.profiling.arrays import array_library, torch_for
from pyharness.kernels.arrays import is_out_of_memory


class CupyDevice:
    """The current device by cupy; torch may share it."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.event = cupy.cuda.Event  # record() puts one into the stream, synchronize() waits for it
        self.begin, self.end = cupy.cuda.nvtx.RangePush, cupy.cuda.nvtx.RangePop

    def zeros(self, size: int, dtype: str) -> Any:
        """Return [size] of 0; raise ``MemoryError`` where they do not fit."""
        return self._cupy.zeros(size, dtype=dtype)

    def copy(self, target: Any, source: Any) -> None:
        """Copy within the device."""
        self._cupy.copyto(target, source)

    def seconds(self, start: Any, stop: Any) -> float:
        """Return the time between two events that have passed."""
        return float(self._cupy.cuda.get_elapsed_time(start, stop)) / 1e3

    def synchronize(self) -> None:
        """Wait for the device."""
        self._cupy.cuda.runtime.deviceSynchronize()

    def free_bytes(self) -> int:
        """Return free memory, without that in pools."""
        return int(self._cupy.cuda.runtime.memGetInfo()[0])

    def reclaim(self) -> None:
        """Empty the pools of cupy and torch."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        if (torch := torch_for("cuda")) is not None:
            torch.cuda.empty_cache()


class TorchDevice:
    """The current device by torch, where cupy is not installed."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.begin, self.end = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
        self.synchronize, self.reclaim = torch.cuda.synchronize, torch.cuda.empty_cache

    def event(self) -> Any:
        """Return an event: record() puts it into the stream, synchronize() waits for it."""
        return self._torch.cuda.Event(enable_timing=True)

    def zeros(self, size: int, dtype: str) -> Any:
        """Return [size] of 0; raise ``MemoryError`` where they do not fit."""
        try:
            return self._torch.zeros(size, dtype=getattr(self._torch, dtype), device="cuda")
        except RuntimeError as error:
            raise (MemoryError(str(error)) if is_out_of_memory(error) else error) from None

    def copy(self, target: Any, source: Any) -> None:
        """Copy within the device."""
        target.copy_(source)

    def seconds(self, start: Any, stop: Any) -> float:
        """Return the time between two events that have passed."""
        return float(start.elapsed_time(stop)) / 1e3

    def free_bytes(self) -> int:
        """Return free memory, without that in torch's pool."""
        return int(self._torch.cuda.mem_get_info()[0])


def device_library() -> CupyDevice | TorchDevice:
    """Return the device by cupy, or by torch without it; raise ``Unsupported`` without either."""
    library = array_library("cuda")
    return TorchDevice(library) if library.__name__ == "torch" else CupyDevice(library)
