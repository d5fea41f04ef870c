"""Arrays: what DLPack says of those of any library, and the libraries of results and work.

Results for NumPy, torch and cupy are arrays of that library, which has its own memory pool. For any other DLPack
producer they are NumPy's on the host and cupy's on a GPU.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.plugins.libraries import load
from pyharness.system.environment import available_memory_bytes
from pyharness.types import InputError, Unsupported

CPU, CUDA, CUDA_PINNED, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's device types


class Device(NamedTuple):
    """Location of memory: whether it is a CUDA device's, and the device number (0 for the host)."""

    is_cuda: bool
    number: int

    def __str__(self) -> str:
        return f"cuda:{self.number}" if self.is_cuda else "cpu"


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array as DLPack describes it; strides in elements."""

    device: Device
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    read_only: bool
    address: int  # of the first element

    @property
    def extent(self) -> range:
        """The addresses from the first byte to the last; strides may leave gaps in between."""
        if 0 in self.shape:
            return range(0)
        steps = [(length - 1) * stride for length, stride in zip(self.shape, self.strides, strict=True)]
        first, last = (sum(pick(step, 0) for step in steps) for pick in (min, max))
        return range(self.address + first * self.itemsize, self.address + (last + 1) * self.itemsize)


def describe(array: Any, name: str) -> ArrayInfo:
    """Describe an array without reading its values.

    Raises:
        InputError: it is no array, its library does not export it (a tensor that requires grad), or it is on neither
            the CPU nor a CUDA device.
    """
    try:
        with exporting(array):
            kind, index, dtype, itemsize, shape, strides, read_only, address = _core.describe_array(array, name)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    if kind not in (CPU, CUDA, CUDA_PINNED, CUDA_MANAGED):
        raise InputError(f"{name} is on a device of DLPack type {kind}: move it to the CPU or to a CUDA device")
    is_cuda = kind in (CUDA, CUDA_MANAGED)
    device = Device(is_cuda, index if is_cuda else 0)
    return ArrayInfo(device, dtype, itemsize, shape, strides, read_only, address)


def on_host(array: Any, name: str) -> NDArray[Any]:
    """Return a host array as NumPy's, without a copy; raise ``InputError`` for one on a device."""
    if (where := describe(array, name).device).is_cuda:
        raise InputError(f"{name} is on {where}, the tokens on the host: copy it there")
    return array if isinstance(array, np.ndarray) else np.from_dlpack(array)


def check_vector(array: Any, name: str, rows: int, dtypes: tuple[str, ...], device: Device) -> ArrayInfo:
    """Describe an array; refuse any but a contiguous [rows] of one of these dtypes on the device."""
    info = describe(array, name)
    if info.device != device:
        raise InputError(f"{name} is on {info.device}, the logits on {device}: move it there")
    if info.shape != (rows,):
        raise InputError(f"{name} must have shape [{rows}], one per row, not {list(info.shape)}")
    if info.dtype not in dtypes:
        raise InputError(f"{name} must hold {' or '.join(dtypes)}, not {info.dtype}: convert it")
    if rows > 1 and info.strides != (1,):
        raise InputError(f"{name} must be contiguous; its stride is {info.strides[0]}: copy it")
    return info


def check_apart(written: dict[str, Any], others: dict[str, Any]) -> None:
    """Refuse an output array that shares memory with another array of the call: rows are not processed in order.

    Memory in the gaps of another array's strides counts as shared.
    """
    extents = {name: describe(array, name).extent for name, array in (written | others).items() if array is not None}
    for (name, mine), (other, theirs) in combinations(extents.items(), 2):
        if name in written and max(mine.start, theirs.start) < min(mine.stop, theirs.stop):
            raise InputError(f"{name} shares memory with {other}: pass memory of its own")


# ---------------------------------------------------------------------------------------------- libraries


def exporting(array: Any) -> AbstractContextManager[Any]:
    """Let the array's library export it: torch does so only for tensors of its current CUDA device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor) and array.is_cuda:
        return torch.cuda.device(array.device)  # type: ignore[no-any-return]
    return nullcontext()


def is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Return whether memory has run out. torch raises RuntimeError for it, and for failures of earlier kernels."""
    # "CUDA out of memory", "DefaultCPUAllocator: can't allocate memory"; not "an illegal memory access".
    return isinstance(error, MemoryError) or any(words in str(error) for words in ("out of memory", "can't allocate"))


class Library:
    """Library that makes the result and work arrays of a call: NumPy, on the host; subclasses are of devices, too."""

    keeps_memory_of_graphs = True  # memory allocated during a stream's capture is not reused afterwards

    def empty(self, shape: tuple[int, ...], dtype: str, device: Device) -> Any:
        """Return an array with arbitrary contents."""
        return np.empty(shape, dtype)

    def own(self, array: Any) -> Any:
        """Return the array as one of this library's, without a copy."""
        if isinstance(array, np.ndarray):
            return array
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError) as error:
            raise InputError(f"NumPy cannot hold this array ({error}): pass torch tensors or float32") from None

    def product_dtype(self, dtype: str) -> str:
        """Return the dtype of ``linear`` for factors of this dtype."""
        return "float32"

    def product_bytes(self, rows: int, columns: int, width: int, dtype: str) -> int:
        """Return the bytes that ``linear`` allocates in addition to its arguments, for factors of this dtype."""
        return 0 if dtype == "float32" else 4 * (rows * width + columns * (width + 1))

    def linear(self, hidden: Any, weight: Any, bias: Any, out: Any) -> None:
        """Compute ``out = hidden @ weight.T + bias``."""
        # NumPy has no BLAS for 16-bit floats; it would multiply them one by one.
        np.matmul(hidden.astype(np.float32, copy=False), weight.astype(np.float32, copy=False).T, out=out)
        if bias is not None:
            np.add(out, bias.astype(np.float32, copy=False), out=out)

    def stream_handle(self, device: Device) -> int:
        """Return the library's current stream on a CUDA device."""
        return 0

    def on_stream(self, device: Device, handle: int) -> AbstractContextManager[Any]:
        """Make the library allocate and compute on this CUDA stream, after the work of its current one."""
        return nullcontext()

    def side_stream(self, device: Device) -> tuple[Any, int]:
        """Make another stream on a CUDA device; return its owner and its handle."""
        return None, 0

    def keep(self, array: Any, device: Device, handle: int) -> None:
        """Keep the memory of ``array`` from reuse until this stream has passed the present point.

        Only torch can: callers who pass a stream with arrays of cupy keep these.
        """

    def free_bytes(self, device: Device) -> int:
        """Return the bytes that could be allocated now; 1 GiB if the system does not say."""
        available = available_memory_bytes()
        return 1 << 30 if available is None else available


class _Torch(Library):
    """Tensors of the CPU and of CUDA devices. Graphs have their own pools."""

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch

    def empty(self, shape: tuple[int, ...], dtype: str, device: Device) -> Any:
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=str(device))

    def own(self, array: Any) -> Any:
        return array if isinstance(array, self._torch.Tensor) else self._torch.from_dlpack(array)

    def product_dtype(self, dtype: str) -> str:
        return dtype

    def product_bytes(self, rows: int, columns: int, width: int, dtype: str) -> int:
        return 0

    def linear(self, hidden: Any, weight: Any, bias: Any, out: Any) -> None:
        if bias is None:
            self._torch.mm(hidden, weight.T, out=out)
        else:
            self._torch.addmm(bias, hidden, weight.T, out=out)

    def stream_handle(self, device: Device) -> int:
        return int(self._torch.cuda.current_stream(device.number).cuda_stream)

    def on_stream(self, device: Device, handle: int) -> AbstractContextManager[Any]:
        cuda, stream = self._torch.cuda, self._stream(device, handle)
        if handle != self.stream_handle(device):
            stream.wait_stream(cuda.current_stream(device.number))
        return cuda.stream(stream)  # type: ignore[no-any-return]

    def _stream(self, device: Device, handle: int) -> Any:
        cuda = self._torch.cuda
        if handle == 0:
            return cuda.default_stream(device.number)
        return cuda.ExternalStream(handle, device=device.number)

    def side_stream(self, device: Device) -> tuple[Any, int]:
        stream = self._torch.cuda.Stream(device.number)
        return stream, int(stream.cuda_stream)

    def keep(self, array: Any, device: Device, handle: int) -> None:
        if device.is_cuda and isinstance(array, self._torch.Tensor) and handle != self.stream_handle(device):
            array.record_stream(self._stream(device, handle))

    def free_bytes(self, device: Device) -> int:
        if not device.is_cuda:
            return super().free_bytes(device)
        cuda = self._torch.cuda
        cached = cuda.memory_reserved(device.number) - cuda.memory_allocated(device.number)
        return int(cuda.mem_get_info(device.number)[0] + cached)


class _Cupy(Library):
    """Device arrays of cupy and of libraries that only speak DLPack."""

    keeps_memory_of_graphs = False

    def __init__(self) -> None:
        purpose = "a CUDA array that is not torch's"
        self._cupy: Any = load(purpose, "cupy", "cuda", error=Unsupported, otherwise="pass torch tensors")

    def empty(self, shape: tuple[int, ...], dtype: str, device: Device) -> Any:
        with self._cupy.cuda.Device(device.number):
            return self._cupy.empty(shape, dtype)

    def own(self, array: Any) -> Any:
        return array if isinstance(array, self._cupy.ndarray) else self._cupy.from_dlpack(array)

    def product_dtype(self, dtype: str) -> str:
        return dtype

    def product_bytes(self, rows: int, columns: int, width: int, dtype: str) -> int:
        return rows * columns * (4 if dtype == "float32" else 2)  # its matmul fills strided arrays by a copy

    def linear(self, hidden: Any, weight: Any, bias: Any, out: Any) -> None:
        self._cupy.matmul(hidden, weight.T, out=out)
        if bias is not None:
            self._cupy.add(out, bias, out=out)

    def stream_handle(self, device: Device) -> int:
        with self._cupy.cuda.Device(device.number):
            return int(self._cupy.cuda.get_current_stream().ptr)

    def on_stream(self, device: Device, handle: int) -> AbstractContextManager[Any]:
        cuda, within = self._cupy.cuda, ExitStack()
        within.enter_context(cuda.Device(device.number))
        current = cuda.get_current_stream()
        if handle != current.ptr:
            stream = cuda.ExternalStream(handle, device.number)
            stream.wait_event(current.record())
            within.enter_context(stream)
        return within

    def side_stream(self, device: Device) -> tuple[Any, int]:
        with self._cupy.cuda.Device(device.number):
            stream = self._cupy.cuda.Stream(non_blocking=True)
        return stream, int(stream.ptr)

    def free_bytes(self, device: Device) -> int:
        with self._cupy.cuda.Device(device.number):
            pool = self._cupy.get_default_memory_pool()
            return int(self._cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def library_of(array: Any, device: Device) -> Library:
    """Return the library of a call's results: torch for its tensors, else NumPy, or cupy on CUDA.

    Raises:
        Unsupported: cupy is needed and cannot be imported.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _Torch()
    return _Cupy() if device.is_cuda else Library()
