"""Growth: the exponent with which a time grows with a size, and a rule that a noisy machine does not deceive.

The exponent is the slope of a line through the logarithms, over the largest sizes: small ones measure what a call
costs before it reads anything. A machine with other work makes single times longer and none shorter, so a size counts
by its least time. A verdict needs the interval of the slope and a plain factor, because a line through noisy points
can be steep by chance. It also needs most doublings to be steep: one step, where text no longer fits a cache of the
processor, makes a line steep, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyharness.statistics.jackknife import t_quantile
from pyharness.statistics.samples import median

LARGEST_SIZES = 5  # that the line goes through
CLEARLY = 0.25  # by how much most doublings exceed an exponent


@dataclass(frozen=True, slots=True)
class GrowthFit:
    """A slope with its 95 % interval, and the factors by which size and time grow over the sizes of the line.

    ``typical`` is the median of the exponents between neighbouring sizes.
    """

    exponent: float
    low: float
    high: float
    size_factor: float
    time_factor: float
    typical: float

    def exceeds(self, exponent: float, times: float) -> bool:
        """Return whether time grows faster: beyond the interval, ``times`` more than explained, at most doublings."""
        steep = self.low > exponent and self.typical > exponent + CLEARLY
        return steep and self.time_factor > times * self.size_factor**exponent


def growth(seconds: Mapping[int, Sequence[float]]) -> GrowthFit | None:
    """Fit the exponent to times by size; None with fewer than three sizes.

    Args:
        seconds: positive times of each size, at least one.

    >>> growth({n: [n * n * 1e-9] for n in (256, 512, 1024, 2048)}).exponent
    2.0
    """
    sizes = sorted(seconds)[-LARGEST_SIZES:]
    if len(sizes) < 3:
        return None
    least = [max(min(seconds[size]), 1e-9) for size in sizes]
    across, up = [math.log(size) for size in sizes], [math.log(time) for time in least]
    slope, error = _line(across, up)
    half = t_quantile(len(sizes) - 2) * error
    doublings = [(up[n + 1] - up[n]) / (across[n + 1] - across[n]) for n in range(len(sizes) - 1)]
    factors = sizes[-1] / sizes[0], least[-1] / least[0]
    return GrowthFit(slope, slope - half, slope + half, *factors, median(doublings))


def _line(across: Sequence[float], up: Sequence[float]) -> tuple[float, float]:
    """Return slope and standard error of the least-squares line."""
    count, centre, middle = len(across), sum(across) / len(across), sum(up) / len(up)
    spread = sum((x - centre) ** 2 for x in across)
    slope = sum((x - centre) * (y - middle) for x, y in zip(across, up, strict=True)) / spread
    residuals = sum((y - middle - slope * (x - centre)) ** 2 for x, y in zip(across, up, strict=True))
    return round(slope, 6), math.sqrt(residuals / (count - 2) / spread)
