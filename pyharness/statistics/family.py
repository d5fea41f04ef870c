"""Which rows of a table differ on a text, tested over all pairs of rows at once.

One pair has its paired 95 % interval. Thirty rows have 435 pairs, of which some exclude 0 where all rows are alike. So
all pairs share one bound: of 100 tables of equally good rows, at most five have any pair that seems to differ.

The bound comes from signs. Each group of documents gives each row a part of its logarithm, relative to the mean of all
rows. If two rows were equally good, the difference of their parts could as well have the other sign, in each group. So
the signs of whole groups are changed, for all rows alike, which preserves what rows have in common. The bound is the
largest statistic over all pairs, in 95 of 100 such changes (Westfall and Young 1993; for one pair it is Fisher's test
of signs, 1935). Nothing is assumed of the dependence of rows, nor of the size of groups. One assumption remains: a
group is as often above as below its expected value. How often it holds: docs/measuring.md, "Ranks".

Over several texts, the ratio of two rows is the geometric mean of their ratios; each text counts alike.

A group of documents is left out of all texts at once, as the jackknife of one text leaves it out of that. Documents
fall into groups by a hash of their content. A document that two texts share leaves both together, and does not count
twice as evidence. The interval is about as much other text of each kind. The choice of kinds is that of the suite's
author, and no interval is about that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.statistics.jackknife import GROUPS, MIN_GROUPS, interval, uneven
from pyharness.types import Measurement

Parts = NDArray[np.float64]  # [rows, GROUPS]

OPPOSED = 1  # groups that may disagree, where a pair of rows has no interval
# Groups that vary in bytes as fewer than 256 equal documents would, and twice as much as in documents: such a text may
# lack the few documents that decide a pair, or have too few of them. There each difference has to be ``clear``, with
# an interval or without. Chosen on JavaScript, C++, books and Hindi.
RANKED_ALIKE = 256
RANKED_UNEQUAL = 2.0
LARGE = 0.1  # a difference, in logarithms, that a few documents hardly undo: clear even if groups disagree
CHANGES = 1999  # of signs; with the signs as they are, 2,000
_LEVEL = 0.95
_AT_ONCE = 2_000_000  # statistics


def parts_of(measured: Sequence[Measurement], counts: Sequence[Sequence[int]]) -> Parts:
    """Return what each group of documents adds to the logarithm of each row's value, relative to the mean of all rows.

    Args:
        measured: of each row, on the very same documents; values are positive, replicates are of ``GROUPS`` groups.
        counts: of each row, in each group, the denominator of the mean: tokens.

    A value without group g differs by the group's deviation from the row's *own* mean, over one minus its share. Where
    groups are of unequal size, that is not what the group says of two rows with *one* mean. Used for it, rows with a
    large group seem to differ. So the share is put back, and the mean of the row relative to that of all.
    """
    values = np.log([float(measurement.value or 0) for measurement in measured])
    replicates = [[one.value if each is None else each for each in one.replicates] for one in measured]
    without = np.log(np.array(replicates, np.float64))
    shares = np.array([np.array(of_row) / sum(of_row) for of_row in counts]).mean(axis=0)
    parts: Parts = (1 - shares) * (values[:, None] - without) + shares * (values - values.mean())[:, None]
    return parts


def told_apart(parts: Parts, clearly: bool = False) -> NDArray[np.bool_]:
    """Return, for each two rows, whether they differ; ``clearly``: and are ``clear``, too. bool [rows, rows]."""
    first, second, statistics, _ = _pairs(parts)
    told = np.zeros((len(parts), len(parts)), np.bool_)
    told[first, second] = told[second, first] = statistics > bound(parts)
    return told & clear(parts) if clearly else told


def agreed(parts: Parts) -> NDArray[np.bool_]:
    """Return, for each two rows, whether all groups agree on which is better: bool [rows, rows].

    ``OPPOSED`` groups may disagree; those without documents do not count. The size of a difference has no effect, nor
    has any large document: the other documents must confirm what a few of them show.
    """
    return _pairs_agree(parts, OPPOSED)


def clear(parts: Parts) -> NDArray[np.bool_]:
    """Return, for each two rows, whether all groups without exception agree, or the difference is large."""
    sums = parts.sum(axis=1)  # their differences are those of the logarithms of values
    large: NDArray[np.bool_] = np.abs(sums[:, None] - sums) > LARGE
    return _pairs_agree(parts, 0) | large


def _pairs_agree(parts: Parts, opposed: int) -> NDArray[np.bool_]:
    agree = np.zeros((len(parts), len(parts)), np.bool_)
    for place, row in enumerate(parts):
        differences = parts - row
        above, below = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
        agree[place] = (np.minimum(above, below) <= opposed) & (above != below)
    return agree


def needs_clarity(documents: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether a difference must be ``clear``, with an interval or without, by the sizes of documents.

    Args:
        documents: uncut ones of every group.
        sizes: bytes of every group.
    """
    return uneven(documents, sizes, RANKED_ALIKE, RANKED_UNEQUAL)


def bound(parts: Parts) -> float:
    """Return what the statistic of a pair, at most the root of ``GROUPS``, must exceed; for one row, infinity."""
    first, second, _, spread = _pairs(parts)
    if not len(first):
        return math.inf
    changed = np.array_split(_signs() @ (parts - parts.mean(axis=0)).T, math.ceil(CHANGES * len(first) / _AT_ONCE))
    largest = [(np.abs(sums[:, first] - sums[:, second]) / spread).max(axis=1) for sums in changed]
    return float(np.sort(np.concatenate(largest))[math.ceil(_LEVEL * (CHANGES + 1)) - 1])


def _pairs(parts: Parts) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return all pairs, with their statistic (sum over root of the sum of squares) and its divisor."""
    first, second = np.triu_indices(len(parts), 1)
    spread = np.concatenate([np.linalg.norm(parts[place + 1 :] - row, axis=1) for place, row in enumerate(parts)])
    spread[spread == 0] = np.inf  # equal numbers
    sums = parts.sum(axis=1)
    return first, second, np.abs(sums[first] - sums[second]) / spread, spread


@cache
def _signs() -> Parts:
    """Return changes of signs, float64 [CHANGES, GROUPS]: equal on every machine, so that a record has one table."""
    drawn = hashlib.shake_256(b"signs of groups").digest(CHANGES * GROUPS // 8)
    return np.where(np.unpackbits(np.frombuffer(drawn, np.uint8)).reshape(CHANGES, GROUPS), 1.0, -1.0)


Pair: TypeAlias = tuple[Measurement, Measurement]  # one metric of A and of B, on the very same documents


@dataclass(frozen=True, slots=True)
class Overall:
    """Ratio of B to A; above 1 where B has more."""

    ratio: float
    interval: tuple[float, float] | None  # 95 %; None where a text has none, or a few documents decide it


def overall(pairs: Sequence[Pair]) -> Overall | None:
    """Return the geometric mean over texts of ``B / A``, with its paired interval; None if a value is not positive.

    Args:
        pairs: A and B on each text; the caller checks that both read the same.
    """
    logs = [_log_ratio(a.value, b.value) for a, b in pairs]
    defined = [log for log in logs if log is not None]
    if not logs or len(defined) < len(logs):
        return None
    replicates = [_replicates(a, b, of_all) for (a, b), of_all in zip(pairs, defined, strict=True)]
    ratio = math.exp(math.fsum(defined) / len(defined))
    if not all(replicates):
        return Overall(ratio, None)
    means = [math.fsum(of_group) / len(of_group) for of_group in zip(*replicates, strict=True)]
    bounds = interval(math.log(ratio), means)
    if bounds is None or any(one.no_pair for pair in pairs for one in pair):
        return Overall(ratio, None)
    return Overall(ratio, (math.exp(bounds[0]), math.exp(bounds[1])))


def _replicates(a: Measurement, b: Measurement, of_all: float) -> list[float]:
    """Return logarithms of the ratio without each group; leaving out a group without documents changes nothing."""
    if not len(a.replicates) == len(b.replicates) == GROUPS or a.replicates.count(None) > GROUPS - MIN_GROUPS:
        return []
    ratios = (_log_ratio(*pair) for pair in zip(a.replicates, b.replicates, strict=True))
    return [of_all if ratio is None else ratio for ratio in ratios]


def _log_ratio(a: float | None, b: float | None) -> float | None:
    return math.log(b / a) if a is not None and b is not None and a > 0 and b > 0 else None
