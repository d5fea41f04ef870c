"""What all codecs ask of the values of a chunk and of the numbers made of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness.features.actions.codecs.transform import LONGEST
from pyharness.types import InputError

LARGEST_NUMBER = float(1 << 40)


def check(values: NDArray[np.float64], dimensions: int) -> None:
    """Refuse what is no chunk of ``dimensions`` finite values a frame."""
    if values.ndim != 2 or values.shape[1] != dimensions:
        has = f"{values.shape[1]}" if values.ndim == 2 else f"shape {values.shape}"
        raise InputError(f"a chunk has frames of {has} values; this codec was fitted to {dimensions}")
    if not 1 <= len(values) <= LONGEST:
        raise InputError(f"a chunk has {len(values):,} frames; it may have 1 to {LONGEST:,}")
    if not np.isfinite(values).all():
        raise InputError("a chunk has values that are no finite numbers")


def rounded(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers, half to even.

    Raises:
        InputError: a number is too large to be written.
    """
    farthest = float(np.abs(numbers).max(initial=0))
    if not farthest <= LARGEST_NUMBER:
        steps = f"{farthest:.3g}" if np.isfinite(farthest) else "too many to count"
        raise InputError(
            f"a value is {steps} steps from the fitted range, of which {LARGEST_NUMBER:.3g} can be "
            "written: the data are in other units than those that the codec was fitted to"
        )
    return np.rint(numbers).astype(np.int64)
