"""Slopes of bits per character over log10 of the vocabulary, their intervals, and the verdict on the published pair.

The published legend has the slope between the end points, the line that is drawn the one of least squares: both are
given. An interval is over works (delete-a-group jackknife of the mean over seeds: other works of the kind, these
models), over seeds (Student's t: other weights and batches, these works), or over both (half-widths add as squares, as
in ``small_model.verdicts``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.statistics.jackknife import degrees_of_freedom, t_quantile
from pyharness.types import InputError

FEWEST_GROUPS = 5  # of works, for an interval
PUBLISHED = (-0.147, -0.109)  # of the curriculum and of models that train as long: arXiv 2502.17910

Bits = NDArray[np.float64]  # bits per character, [points]


def end_points(sizes: Sequence[int], bits: Bits) -> float:
    """Slope from the smallest vocabulary to the largest, bits per character for each factor of ten.

    Raises:
        InputError: there are no two sizes.
    """
    order = np.argsort(sizes, kind="stable")
    first, last = order[0], order[-1]
    rise = math.log10(sizes[last]) - math.log10(sizes[first])
    if not rise:
        raise InputError("a slope needs two sizes of a vocabulary")
    return float(bits[last] - bits[first]) / rise


def least_squares(sizes: Sequence[int], bits: Bits) -> float:
    """Slope of the line of least squares, bits per character for each factor of ten.

    Raises:
        InputError: there are no two sizes.
    """
    x = np.log10(np.asarray(sizes, np.float64))
    x -= x.mean()
    if not x.any():
        raise InputError("a slope needs two sizes of a vocabulary")
    return float(x @ (np.asarray(bits) - np.mean(bits)) / (x @ x))


SLOPES = {"end points": end_points, "least squares": least_squares}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with half-widths of 95 %, over works and over seeds; None where there are too few."""

    value: float
    works: float | None
    seeds: float | None

    @property
    def both(self) -> tuple[float, float] | None:
        """95 % interval over other works and other seeds."""
        if self.works is None or self.seeds is None:
            return None
        half = math.hypot(self.works, self.seeds)
        return self.value - half, self.value + half

    @property
    def over_works(self) -> str:
        """The number with its 95 % interval over other works alone."""
        if self.works is None:
            return f"{self.value:+.4f}"
        return f"{self.value:+.4f} ({self.value - self.works:+.4f} to {self.value + self.works:+.4f})"

    def __str__(self) -> str:
        if self.both is None:
            return f"{self.value:+.4f}"
        return f"{self.value:+.4f} ({self.both[0]:+.4f} to {self.both[1]:+.4f})"


def estimate(of_seeds: Sequence[float], without_groups: Sequence[float]) -> Estimate:
    """Mean over seeds.

    Args:
        of_seeds: the number of each seed, of all works.
        without_groups: the mean over seeds without each group of works in turn.
    """
    return Estimate(statistics.fmean(of_seeds), _half_over_works(without_groups), _half_over_seeds(of_seeds))


def _half_over_works(replicates: Sequence[float]) -> float | None:
    count = len(replicates)
    if count < FEWEST_GROUPS:
        return None
    mean = statistics.fmean(replicates)
    squares = [(one - mean) ** 2 for one in replicates]
    return t_quantile(degrees_of_freedom(squares)) * math.sqrt((count - 1) / count * math.fsum(squares))


def _half_over_seeds(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    return t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def jump(before: float, after: float) -> float:
    """What growth costs at once, in bits per character: above 0, the model is worse right after it."""
    return after - before


def steps_to_recover(steps: Sequence[int], bits: Sequence[float], before: float) -> int | None:
    """First of the steps at which the model is as good as before the growth; None if it never was."""
    return next((step for step, one in zip(steps, bits, strict=True) if one <= before), None)


def verdict(curriculum: Estimate, matched: Estimate, gap: Estimate, lacks: str) -> str:
    """Say what the slopes of the curriculum and of models that train as long say of the published pair.

    Args:
        curriculum: its slope.
        matched: that of models trained as long from scratch.
        gap: the slope of the curriculum less the other, within seeds and on the same works.
        lacks: what of the published configuration is not here; empty: it is the same.
    """
    if lacks:
        return f"not testable here, because {lacks}; here {_sign(gap)}"
    if gap.both is None or curriculum.both is None or matched.both is None:
        return "not testable here, because there is no interval"
    held = all(low <= one <= high for one, (low, high) in zip(PUBLISHED, (curriculum.both, matched.both), strict=True))
    if held and gap.both[1] < 0:
        return "replicated: both intervals hold the published slopes, and the curriculum's is the steeper"
    return f"refuted: {_sign(gap)}" if gap.both[0] > PUBLISHED[0] - PUBLISHED[1] else f"not resolved: {_sign(gap)}"


def _sign(gap: Estimate) -> str:
    if gap.both is None:
        return "the difference of the slopes has no interval"
    low, high = gap.both
    said = "falls more" if high < 0 else "falls less" if low > 0 else "differs by nothing that is resolved"
    return f"the curriculum's slope {said} ({gap}; published {PUBLISHED[0] - PUBLISHED[1]:+.3f})"
