"""The numbers of a row: from the bytes of a dtype to float64, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTHS = {"F32": 4, "BF16": 2, "F16": 2}  # bytes of a number


def to_float64(data: NDArray[np.uint8], dtype: str) -> NDArray[np.float64]:
    """Numbers of rows: uint8 [rows, bytes] -> float64 [rows, columns]; exact."""
    if dtype == "BF16":
        return (data.view("<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    return data.view("<f4" if dtype == "F32" else "<f2").astype(np.float64)


def to_bytes(numbers: NDArray[np.float64], dtype: str) -> NDArray[np.uint8]:
    """Round numbers to float32, and from there to a dtype, to the nearest and to even: [columns] -> uint8 [bytes].

    The second step is what torch does, too, with float64 that is to be bfloat16 or float16.
    """
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(numbers, "<f4")
        if dtype == "F16":
            return single.astype("<f2").view(np.uint8)
    if dtype == "F32":
        return single.view(np.uint8)
    bits = single.view("<u4")
    rounded: NDArray[Any] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    rounded[np.isnan(single)] = 0x7FC0  # or else a NaN could become an infinity
    return rounded.astype("<u2").view(np.uint8)
