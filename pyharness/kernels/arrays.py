"""Arrays of any library, as DLPack describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyharness import _core
from pyharness.kernels.libraries import Device, exporting
from pyharness.types import InputError

CPU, CUDA, CUDA_PINNED, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's device types


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
    for position, name in enumerate(extents):
        if name not in written:
            continue
        mine = extents[name]
        for other in list(extents)[position + 1 :]:
            theirs = extents[other]
            if max(mine.start, theirs.start) < min(mine.stop, theirs.stop):
                raise InputError(f"{name} shares memory with {other}: pass memory of its own")
