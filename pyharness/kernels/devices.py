"""The CUDA devices, or the reason why none can be used. Importing this needs neither a driver nor nvcc."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from pyharness.types import Unsupported

LEAST_CAPABILITY = (8, 0)  # the kernels are compiled for Ampere and later


class CudaUnavailable(Unsupported):
    """CUDA cannot be used although a call needs it; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """Properties of a device. Clocks are the maximum, not the present ones."""

    index: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    free_bytes: int  # at the time of the call
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    driver_version: str  # the newest CUDA that the driver runs, such as "13.0"
    runtime_version: str  # the CUDA that this build contains
    bus_id: str  # nvidia-smi's name of it, whatever CUDA_VISIBLE_DEVICES says


@cache
def _load() -> tuple[ModuleType | None, str]:
    """Import the extension; return the module, or the reason for its absence."""
    try:
        return importlib.import_module("pyharness._cuda"), ""
    except ModuleNotFoundError:
        return None, "this build has no CUDA kernels: install from source with nvcc on the PATH and PYHARNESS_CUDA=ON"
    except ImportError as error:
        return None, f"the CUDA kernels cannot be loaded: {error}"


@cache
def _too_old(device: int) -> str | None:
    """Return why a device lacks the instructions that the kernels are compiled to; None if it has them."""
    module, reason = _load()
    if module is None:
        return reason
    facts = module.device_info(device)
    capability = tuple(facts["compute_capability"])
    if capability >= LEAST_CAPABILITY:
        return None
    major, minor = capability
    return f"cuda:{device} ({facts['name']}) has compute capability {major}.{minor}; the kernels need 8.0 or more"


def cuda_reason(device: int = 0) -> str | None:
    """Return why CUDA cannot be used: not built, no driver, no device, too old a device. None if it can.

    Raises:
        ValueError: there are devices, but this index is out of range.
    """
    module, reason = _load()
    if module is None:
        return reason
    why: str | None = module.why_unavailable()
    return _too_old(device) if why is None else why


def require_cuda(device: int = 0) -> ModuleType:
    """Return the module of CUDA kernels, for arrays of a device.

    Raises:
        CudaUnavailable: there is no device, no driver, or no build for them; or the device is too old.
        ValueError: there are devices, but this index is out of range.
    """
    module, _ = _load()
    reason = cuda_reason(device)
    if module is None or reason is not None:
        raise CudaUnavailable(f"CUDA is not available: {reason}. The same call works on arrays in host memory")
    return module


def device_info(device: int = 0) -> DeviceInfo:
    """Describe a device.

    Raises:
        CudaUnavailable: CUDA cannot be used (see ``cuda_reason``).
        ValueError: there are devices, but this index is out of range.
    """
    facts = dict(require_cuda(device).device_info(device))
    for name in ("driver_version", "runtime_version"):
        facts[name] = f"{facts[name] // 1000}.{facts[name] % 1000 // 10}"
    return DeviceInfo(index=device, **facts)
