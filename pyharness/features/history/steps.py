"""Steps in a series: where its level changed, by rank sums over seeded intervals, the narrowest over a threshold.

Intervals of all lengths cover the series (Kovács, Bühlmann, Li and Munk 2023, definition 1). In each one, the ranks of
the points before a split are summed, and the sum is standardised: Wilcoxon's statistic, largest over all splits with
``FEWEST`` points on either side. Of the intervals above the threshold the narrowest names a step, since it holds the
fewest other steps (Baranowski, Chen and Fryzlewicz 2019, section 2.2). Then both sides of it are searched alike.

Where nothing changed, ranks are a random order whatever the noise is. So the threshold is simulated: the largest
statistic of a random order exceeds it with a probability of ``LEVEL`` (``studies/ranks/history_rule.py --null``).
Points must not depend on each other: docs/history.md "How often it errs, simulated".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 5  # points on either side of a split
LEVEL = 0.001  # of a series, and then of each side of its step
_DIGITS = 9  # of a statistic: equal ones stay equal, whatever a division rounds
_DECAY = 2**-0.5  # length of an interval over that of the next longer ones
# Thresholds for series of at most so many points: the quantile of 1 - LEVEL, over simulated orders.
_THRESHOLDS = {
    10: 2.6113, 12: 2.8824, 14: 3.0985, 16: 3.2541, 20: 3.3948, 25: 3.5542, 32: 3.7094, 40: 3.8262,
    50: 3.9325, 64: 4.0657, 80: 4.1451, 100: 4.2687, 128: 4.3306, 160: 4.3852, 200: 4.4543, 256: 4.5146,
    320: 4.6014, 400: 4.6799, 500: 4.7435, 700: 4.8016,
}  # fmt: skip
_PER_DOUBLING = 0.25  # more for each doubling beyond the longest: from 350 to 700 points it is 0.18, and falling


@dataclass(frozen=True, slots=True)
class LevelStep:
    """A change of level."""

    index: int  # of the first point after it
    before: float  # median of the points since the step before, or since the beginning
    after: float  # median of the points until the next step, or until the end

    @property
    def effect(self) -> float:
        """The difference of the levels; positive where the series rose."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Scan:
    """The best split of each interval, in each of a number of equally long series."""

    begins: NDArray[np.intp]  # [intervals]
    ends: NDArray[np.intp]  # [intervals]
    statistics: NDArray[np.float64]  # [series, intervals], 0 and more
    splits: NDArray[np.intp]  # [series, intervals], index of the first point after the split


def seeded_intervals(count: int) -> list[tuple[int, NDArray[np.intp]]]:
    """Return lengths, longest first, each with the begins of its intervals, which are spread evenly.

    >>> [(length, begins.tolist()) for length, begins in seeded_intervals(20)]
    [(20, [0]), (15, [0, 2, 5]), (10, [0, 5, 10])]
    """
    layers, share = [], 1.0
    while (length := int(np.ceil(round(count * share, 9)))) >= 2 * FEWEST:
        number = 2 * int(np.ceil(round(1 / share, 9))) - 1
        layers.append((length, np.unique(np.linspace(0, count - length, number).astype(np.intp))))
        share *= _DECAY
    return layers


def scan(series: ArrayLike) -> Scan:
    """Return the best split of each seeded interval; ``series`` is [series, points], of finite numbers."""
    values = np.asarray(series, np.float64)
    layers = [_layer(values, length, begins) for length, begins in seeded_intervals(values.shape[1])]
    if not layers:
        none = np.zeros(0, np.intp)
        return Scan(none, none, np.zeros((len(values), 0)), np.zeros((len(values), 0), np.intp))
    return Scan(
        np.concatenate([one.begins for one in layers]),
        np.concatenate([one.ends for one in layers]),
        np.concatenate([one.statistics for one in layers], axis=1),
        np.concatenate([one.splits for one in layers], axis=1),
    )


def _layer(values: NDArray[np.float64], length: int, begins: NDArray[np.intp]) -> Scan:
    """Scan the intervals of one length."""
    sizes = _standardised(_centred_ranks(values[:, begins[:, None] + np.arange(length)]))
    best = sizes.argmax(axis=-1)
    return Scan(begins, begins + length, sizes.max(axis=-1), begins + best + FEWEST)


def _centred_ranks(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks along the last axis, minus their mean; equal values share their mean rank."""
    order = windows.argsort(axis=-1)
    ordered, length = np.take_along_axis(windows, order, axis=-1), windows.shape[-1]
    places, new = np.arange(length), np.ones(windows.shape, bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(new, places, 0), axis=-1)
    ends = np.where(np.roll(new, -1, axis=-1), places, length)  # the last of each group; the first one is always new
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(windows.shape)
    np.put_along_axis(ranks, order, (first + last - (length - 1)) / 2, axis=-1)
    return ranks


def _standardised(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the size of each split's rank sum in its standard deviations; 0 where all values are equal."""
    length = ranks.shape[-1]
    left = np.arange(FEWEST, length - FEWEST + 1)
    sums = np.abs(ranks.cumsum(axis=-1)[..., left - 1])
    squares = (ranks**2).sum(axis=-1, keepdims=True) / (length * (length - 1))
    deviations = np.sqrt(squares * left * (length - left))  # of a sum of ``left`` ranks drawn without replacement
    sizes = np.divide(sums, deviations, out=np.zeros_like(sums), where=deviations > 0)
    rounded: NDArray[np.float64] = np.round(sizes, _DIGITS)
    return rounded


def threshold(count: int) -> float:
    """Return what the largest statistic of ``count`` points exceeds with a probability of ``LEVEL``."""
    longest = max(_THRESHOLDS)
    if count > longest:
        return _THRESHOLDS[longest] + _PER_DOUBLING * float(np.ceil(np.log2(count / longest)))
    return next(value for size, value in _THRESHOLDS.items() if size >= count)


def steps(values: Sequence[float] | NDArray[np.float64], effect: float) -> tuple[LevelStep, ...]:
    """Return the steps of a series of finite numbers, in order; none below ``2 * FEWEST`` points.

    Steps smaller than ``effect`` are taken out, the smallest first, and its neighbours are then measured again. So a
    slow drift, which is many small steps, ends as one or a few large ones.
    """
    series = np.asarray(values, np.float64)
    kept = list(_splits(series))
    while kept:
        bounds = [0, *kept, len(series)]
        levels = [float(np.median(series[begin:end])) for begin, end in pairwise(bounds)]
        changes = [LevelStep(index, *pair) for index, pair in zip(kept, pairwise(levels), strict=True)]
        smallest = min(changes, key=lambda step: abs(step.effect))
        if abs(smallest.effect) >= effect:
            return tuple(changes)
        kept.remove(smallest.index)
    return ()


def _splits(series: NDArray[np.float64]) -> list[int]:
    """Return the split of the narrowest interval above the threshold, and those of both sides of it.

    Each side is a series of its own. Seeded intervals of the whole often hold both ends of a rise that is taken back;
    and the threshold of the whole is more than a short level between two steps can reach.
    """
    scanned = scan(series[None])
    above = np.flatnonzero(scanned.statistics[0] > threshold(len(series)))
    if not len(above):
        return []
    widths = (scanned.ends - scanned.begins)[above]
    split = int(scanned.splits[0, above[np.lexsort((-scanned.statistics[0, above], widths))[0]]])
    return [*_splits(series[:split]), split, *(split + place for place in _splits(series[split:]))]
