"""Generated inputs, in the library that fits the device and dtype, and comparisons for their verification."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.profiling.types import DeviceKind
from pyharness.plugins.libraries import is_installed, load
from pyharness.types import Unsupported

SEED = 20240229
_TORCH = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_NUMPY = {"fp16": "float16", "fp32": "float32"}


def torch_dtype(dtype: str) -> Any:
    """Return torch's dtype of that name."""
    import torch

    return getattr(torch, _TORCH[dtype])


def torch_for(kind: DeviceKind) -> Any:
    """Return torch, or None where it is not installed or does not see the device."""
    try:
        import torch
    except ImportError:
        return None
    return torch if kind == "cpu" or torch.cuda.is_available() else None


def array_library(kind: DeviceKind) -> Any:
    """Return numpy, or on CUDA cupy, or torch without it; raise ``Unsupported`` without either."""
    if kind == "cpu":
        return np
    if not is_installed("cupy") and (torch := torch_for(kind)) is not None:
        return torch
    return load("profiling on CUDA", "cupy", "cuda", error=Unsupported, otherwise="install torch")


def placed(library: Any, kind: DeviceKind) -> AbstractContextManager[Any]:
    """Let torch make arrays on the device within the block; numpy and cupy have one place."""
    return library.device(kind) if library.__name__ == "torch" else nullcontext()


def on_device(array: NDArray[Any], library: Any, kind: DeviceKind) -> Any:
    """Return a host array as one of the library's on the device."""
    return library.from_numpy(array).to(kind) if library.__name__ == "torch" else library.asarray(array)


def uniform_of(library: Any) -> Callable[[int], Any]:
    """Return a function that draws float64 [count] from 0 to 1, deterministic for a library, where it makes arrays."""
    if library.__name__ != "torch":
        draw: Callable[[int], Any] = library.random.default_rng(SEED).random
        return draw
    generator = library.Generator(library.get_default_device()).manual_seed(SEED)
    return lambda count: library.rand(count, dtype=library.float64, generator=generator)


def normal(kind: DeviceKind, dtype: str, shape: tuple[int, int], scale: float, seed: int = SEED) -> Any:
    """Draw normal values [rows, columns] with standard deviation ``scale``, deterministic for a seed.

    Returns a torch tensor where torch is available, else an array of cupy (CUDA) or numpy. Raises ``Unsupported`` for
    bf16 without torch: numpy and cupy cannot draw it.
    """
    torch = torch_for(kind)
    if torch is not None:
        generator = torch.Generator(device=kind).manual_seed(seed)
        # Drawn in place and in the requested dtype: a further float32 copy of the largest GPU shape would not fit.
        return torch.empty(shape, dtype=torch_dtype(dtype), device=kind).normal_(0, scale, generator=generator)
    if dtype == "bf16":
        raise Unsupported("bf16 needs torch: pip install torch, or choose --dtype fp32")
    library, generator = array_library(kind), np.random.default_rng(seed)
    values = library.empty(shape, _NUMPY[dtype])
    for row in values:  # row by row, without a second array of this size
        row[:] = library.asarray(generator.standard_normal(shape[1], np.float32) * np.float32(scale))
    return values


def copied_bytes(wanted: int, most: int) -> int:
    """Return the size of a copy whose reads and writes sum to ``wanted`` bytes, within a buffer of ``most``."""
    return max(1, min(wanted // 2, most))


def read_bytes(wanted: int, most: int) -> int:
    """Return ``wanted`` as whole words of 16 bytes, at most ``most`` and at least one word."""
    return max(16, min(wanted, most) // 16 * 16)


def wide(array: Any) -> Any:
    """Return unsigned integers as uint64; those of torch, which hardly computes with these, as int64 of the same bits.

    An id of torch's is the same number in either.
    """
    if not _is_tensor(array):
        return array.astype(np.uint64)
    import torch

    if array.element_size() == 8:
        return array.view(torch.int64)
    return array.view(torch.int32).to(torch.int64) & (1 << 32) - 1


def _is_tensor(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def on_host(array: Any) -> NDArray[Any]:
    """Return a numpy array of the values: float64 for torch's floats, as numpy does not know bf16."""
    if _is_tensor(array):
        host = array.detach().cpu()
        return np.asarray(host.double() if host.is_floating_point() else host)
    return np.asarray(array.get() if hasattr(array, "get") else array)


def differs(result: Any, ours: Any, absolute: float, relative: float = 0.0) -> str | None:
    """Say where two float results differ by more than ``absolute + relative * |ours|``, or None."""
    a, b = on_host(result).astype(np.float64), on_host(ours).astype(np.float64)
    if a.shape != b.shape:
        return f"its result has shape {a.shape}, ours {b.shape}"
    excess = np.abs(a - b) - (absolute + relative * np.abs(b))
    excess[np.isnan(a) & np.isnan(b)] = -np.inf
    row = int(np.argmax(np.where(np.isnan(excess), np.inf, excess))) if excess.size else 0
    if excess.size == 0 or excess[row] <= 0:
        return None
    return f"row {row}: {a[row]:.9g}, ours {b[row]:.9g}, tolerance {absolute + relative * abs(b[row]):.2g}"
