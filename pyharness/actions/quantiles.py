"""Quantile normalisation: what most values of a dimension lie between becomes -1 to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
LOW, HIGH = 0.01, 0.99


@dataclass(frozen=True, slots=True)
class Quantiles:
    """1st and 99th percentile of each dimension, as fitted.

    A dimension without spread between them has nothing to be scaled by: it is shifted alone, and keeps its unit.
    """

    low: Values  # float64 [dimensions]
    high: Values  # float64 [dimensions]

    @classmethod
    def of(cls, frames: Values) -> Quantiles:
        """Fit to frames, float64 [frames, dimensions], by linear interpolation between order statistics.

        >>> Quantiles.of(np.linspace(0, 100, 101)[:, None]).high.tolist()
        [99.0]
        """
        low, high = np.quantile(frames, [LOW, HIGH], axis=0)
        return cls(low, high)

    @property
    def unscaled(self) -> NDArray[np.bool_]:
        """Dimensions without spread, [dimensions]: of less than 2^-40 of their size, which is rounding."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        narrow: NDArray[np.bool_] = self.high - self.low <= size * 2.0**-40
        return narrow

    @property
    def half_widths(self) -> Values:
        """Units of the data that 1 stands for, float64 [dimensions]."""
        return np.where(self.unscaled, 1.0, (self.high - self.low) / 2)

    @property
    def middles(self) -> Values:
        """What becomes 0, float64 [dimensions]."""
        return self.low + (self.high - self.low) / 2

    def normalised(self, values: Values) -> Values:
        """Float64 [frames, dimensions] in units of the data -> the same, mostly in -1..1."""
        return (values - self.middles) / self.half_widths

    def restored(self, values: Values) -> Values:
        """Inverse of ``normalised``."""
        return values * self.half_widths + self.middles
