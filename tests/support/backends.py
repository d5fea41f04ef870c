"""The kernels' backends: the core per instruction set, the emulated kernels per scheduling seed, the CUDA kernels.

A test that takes the fixture ``backend`` runs on each of them. Inside it, host arrays go to that backend.
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness import _core
from pyharness.kernels import place

Floats = NDArray[np.float64]
SEEDS = (0, 1, 2)
DLPACK_BFLOAT = 4
DTYPE_CODE_OFFSET = 20  # of DLTensor: data 8 bytes, device 8, number of dimensions 4


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run a kernel."""

    kind: str  # core, emulated or cuda
    variant: str = ""  # the instruction set or the seed

    def __str__(self) -> str:
        return f"{self.kind}-{self.variant}" if self.variant else self.kind

    def put(self, array: NDArray[Any]) -> Any:
        """The array where this backend works, strides included."""
        if self.kind != "cuda":
            return array
        import cupy

        whole = array.base if isinstance(array.base, np.ndarray) else array
        start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        memory = cupy.asarray(whole).data + start
        return cupy.ndarray(array.shape, array.dtype, memory, strides=array.strides)

    def get(self, array: Any) -> NDArray[Any]:
        """The values of a result."""
        return array.get() if self.kind == "cuda" else np.asarray(array)

    def logits(self, values: Floats, dtype: str) -> tuple[Any, Floats]:
        """Values as logits of a dtype, and what they are after rounding."""
        if dtype == "bfloat16":
            bits = bfloat16_bits(values)
            return Bfloat16Array(self.put(bits)), (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        with np.errstate(over="ignore"):
            rounded = values.astype(dtype)
        return self.put(rounded), rounded.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Bfloat16Array:
    """bfloat16 kept as uint16, which hands itself out as libraries did before DLPack 1.0. NumPy has no such dtype."""

    bits: Any

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.bits.__dlpack_device__()
        return device

    def __dlpack__(self, stream: int | None = None) -> Any:
        capsule = self.bits.__dlpack__(stream=stream)
        ctypes.c_uint8.from_address(address_in(capsule, b"dltensor") + DTYPE_CODE_OFFSET).value = DLPACK_BFLOAT
        return capsule


def address_in(capsule: Any, name: bytes) -> int:
    """Where the struct of a capsule lies."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address: int = pointer_of(capsule, name)
    return address


def bfloat16_bits(values: Floats) -> NDArray[np.uint16]:
    """Rounded to nearest, ties to even; NaN stays NaN."""
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def backends() -> list[Any]:
    """Parameters, the CUDA one marked."""
    core = [Backend("core", name) for name in ("portable", "avx2", "avx512")]
    emulated = [Backend("emulated", str(seed)) for seed in SEEDS]
    cuda = pytest.param(Backend("cuda"), marks=pytest.mark.cuda)
    return [*core, *emulated, cuda]


BACKENDS = backends()


def module(name: str) -> Any:
    """A native module of the package; the test is skipped where it is not built."""
    try:
        return importlib.import_module(f"pyharness.{name}")
    except ImportError:
        pytest.skip(f"pyharness.{name} is not built")


@pytest.fixture(params=BACKENDS, ids=str)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Each backend, made the one that works on its arrays; skipped with the reason where it cannot run."""
    chosen: Backend = request.param
    if chosen.kind == "core":
        if chosen.variant not in _core.instruction_sets():
            pytest.skip(f"this machine does not run {chosen.variant}")
        monkeypatch.setenv("PYHARNESS_ISA", chosen.variant)
    elif chosen.kind == "emulated":
        emulated = module("_emulated")
        emulated.set_seed(int(chosen.variant))
        monkeypatch.setitem(place.MODULES, "cpu", lambda: emulated)
    else:
        from pyharness.kernels.devices import cuda_reason

        reason = cuda_reason()
        if reason is not None:
            pytest.skip(reason)
        pytest.importorskip("cupy", reason="cupy supplies the device arrays")
    return chosen
