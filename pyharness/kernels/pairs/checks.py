"""Checks of the arrays of pair counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels.arrays.arrays import describe
from pyharness.types import InputError


def on_host(array: Any, name: str) -> NDArray[Any]:
    """A host array as NumPy's, without a copy."""
    if (where := describe(array, name).device).is_cuda:
        raise InputError(f"{name} is on {where}, the tokens on the host: copy it there")
    return array if isinstance(array, np.ndarray) else np.from_dlpack(array)


def bad_id(position: int, value: int) -> ValueError:
    """The error for an id that no uint32 holds."""
    return ValueError(f"tokens[{position}] = {value} is not an id: ids are 0..{0xFFFFFFFF}")
