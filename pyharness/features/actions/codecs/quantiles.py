"""Quantile normalisation: the central range of a dimension becomes -1 to 1. Also the checks of codecs on values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError

Values = NDArray[np.float64]
Integers = NDArray[np.int64]
LOW, HIGH = 0.01, 0.99
LONGEST = 4096  # frames of a chunk: the matrix of as many cosines has 128 MiB
LARGEST_NUMBER = float(1 << 40)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """1st and 99th percentile of each dimension, as fitted.

    A dimension without spread between them has no scale: it is only shifted, and keeps its unit.
    """

    low: Values  # float64 [dimensions]
    high: Values  # float64 [dimensions]

    @classmethod
    def of(cls, frames: Values) -> Quantiles:
        """Fit to frames, float64 [frames, dimensions], by linear interpolation between order statistics.

        Raises:
            InputError: a dimension's span exceeds the range of float64.

        >>> Quantiles.of(np.linspace(0, 100, 101)[:, None]).high.tolist()
        [99.0]
        """
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = np.quantile(frames, [LOW, HIGH], axis=0)
        fitted = cls(low, high)
        if len(wide := np.flatnonzero(~fitted.bounded)):
            raise InputError(f"dimension {wide[0]} spans more than a number can hold: give the data in other units")
        return fitted

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """Whether a dimension's bounds and their difference are finite, [dimensions]."""
        with np.errstate(over="ignore", invalid="ignore"):
            finite: NDArray[np.bool_] = np.isfinite(self.high - self.low)
        return finite

    @property
    def unscaled(self) -> NDArray[np.bool_]:
        """Whether a dimension has no spread but rounding, bool [dimensions]: at most 2^-40 of its size, or 2^-1022."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        narrow: NDArray[np.bool_] = self.high - self.low <= np.maximum(size * 2.0**-40, np.finfo(np.float64).tiny)
        return narrow

    @property
    def half_widths(self) -> Values:
        """Units of the data per normalised unit, float64 [dimensions]."""
        return np.where(self.unscaled, 1.0, (self.high - self.low) / 2)

    @property
    def middles(self) -> Values:
        """Values that become 0, float64 [dimensions]."""
        return self.low + (self.high - self.low) / 2

    def normalised(self, values: Values) -> Values:
        """Normalise float64 [frames, dimensions] in units of the data, mostly to -1..1.

        Values beyond the range of floats become infinite or NaN, which ``rounded`` refuses.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return (values - self.middles) / self.half_widths

    def restored(self, values: Values) -> Values:
        """Inverse of ``normalised``."""
        return values * self.half_widths + self.middles


@dataclass(frozen=True)
class OfQuantiles:
    """Base of all codecs, with their fitted quantiles."""

    quantiles: Quantiles

    @property
    def dimensions(self) -> int:
        """Number of values per frame."""
        return len(self.quantiles.low)

    @property
    def half_widths(self) -> Values:
        """Units of the data per normalised unit."""
        return self.quantiles.half_widths

    def normalised(self, frames: Values) -> Values:
        """Normalise frames to units of the fitted quantiles."""
        return self.quantiles.normalised(frames)


def check_chunk(values: NDArray[np.float64], dimensions: int) -> None:
    """Refuse anything but 1 to ``LONGEST`` frames of ``dimensions`` finite values."""
    if values.ndim != 2 or values.shape[1] != dimensions:
        has = f"{values.shape[1]}" if values.ndim == 2 else f"shape {values.shape}"
        raise InputError(f"a chunk has frames of {has} values; this codec was fitted to {dimensions}")
    if not 1 <= len(values) <= LONGEST:
        raise InputError(f"a chunk has {len(values):,} frames; it may have 1 to {LONGEST:,}")
    if not np.isfinite(values).all():
        raise InputError("a chunk has values that are no finite numbers")


def rounded(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to whole numbers, half to even.

    Raises:
        InputError: a number is too large to be encoded.
    """
    farthest = float(np.abs(numbers).max(initial=0))
    if not farthest <= LARGEST_NUMBER:
        steps = f"{farthest:.3g}" if np.isfinite(farthest) else "too many to count"
        raise InputError(
            f"a value is {steps} steps from the fitted range, of which {LARGEST_NUMBER:.3g} can be "
            "written: the data are in other units than those that the codec was fitted to"
        )
    return np.rint(numbers).astype(np.int64)
