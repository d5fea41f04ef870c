"""Opens the device of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyharness.features.profiling.machines.cpu import Cpu
from pyharness.features.profiling.types import DeviceKind, Machine
from pyharness.kernels.devices import device_info, require_cuda
from pyharness.plugins.libraries import load
from pyharness.types import Unsupported


@contextmanager
def opened(kind: DeviceKind, threads: int) -> Iterator[Machine]:
    """Open the device; raise ``CudaUnavailable`` or ``Unsupported`` with the reason."""
    if kind == "cpu":
        yield Cpu(threads)
        return
    require_cuda()
    cupy = load("profiling on CUDA", "cupy", "cuda", error=Unsupported)
    from pyharness.features.profiling.machines.clocks import watching
    from pyharness.features.profiling.machines.cuda import Cuda, bus_id

    info = device_info()
    with watching(bus_id(cupy, info.index)) as watch:
        yield Cuda(cupy, info, watch)
