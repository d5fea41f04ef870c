"""Wilcoxon's signed-rank test of counts on the same documents: a comparison for few documents, without an interval.

Where two rows differ by chance alone, either side of a document is equally likely to be larger, whatever its size:
the signs of the logarithms of the ratios are fair coins. The ranks of their absolute values are summed by sign. The
probability of a sum follows by counting, so that p is exact from the first pair on, also for ties (Wilcoxon 1945; Pratt
and Gibbons 1981, 3.4). Above 256 pairs, p is from a normal curve. Equal pairs have no sign and
are left out. How often it errs: docs/measuring.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.05  # two-sided
FEWEST = 6  # unequal pairs; with fewer, no p is as small as ``LEVEL``: 2 / 2^6 is 0.03, 2 / 2^5 is 0.06
_MOST_COUNTED = 256  # pairs; for more, the normal curve of the same mean and variance is near enough


@dataclass(frozen=True, slots=True)
class SignedRanks:
    """Which side of the pairs is larger, as far as chance does not explain it."""

    pairs: int
    differing: int  # pairs whose sides differ
    sign: int  # 1: by their ranks the second sides are larger, -1: the first sides, 0: neither
    p: float  # two-sided

    @property
    def decides(self) -> bool:
        """Whether enough pairs differ, and chance alone would make such a difference with p of at most ``LEVEL``."""
        return self.differing >= FEWEST and self.p <= LEVEL


def signed_ranks(first: ArrayLike, second: ArrayLike) -> SignedRanks:
    """Compare counts of 0 and more, pair by pair, by the ranks of the logarithms of their ratios.

    A pair with a count of 0 differs by more than any two positive counts.

    >>> signed_ranks([10, 20, 30, 40, 50, 60], [11, 23, 35, 47, 59, 71])
    SignedRanks(pairs=6, differing=6, sign=1, p=0.03125)
    """
    sides = np.array([first, second], np.float64).reshape(2, -1)
    differing = sides[0] != sides[1]
    low, high = np.sort(sides[:, differing], axis=0)
    with np.errstate(divide="ignore"):
        sizes = high / low  # a division rounds equal ratios to one value, which a logarithm may not
    _, groups, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    # Twice the ranks from 1 on: equal sizes share their mean rank, which is whole or half.
    ranks = np.asarray((2 * np.cumsum(counts) - counts + 1)[groups], np.int64)
    up = (sides[1] > sides[0])[differing]
    total, above = int(ranks.sum()), int(ranks[up].sum())
    sign = (2 * above > total) - (2 * above < total)
    count = len(ranks)
    return SignedRanks(sides.shape[1], count, sign, _two_sided(ranks, min(above, total - above)))


def _two_sided(ranks: NDArray[np.int64], smaller: int) -> float:
    """Return the probability that the sum of one sign is ``smaller`` or less, or as far on the other side."""
    if len(ranks) > _MOST_COUNTED:
        total = int(ranks.sum())
        deviation = math.sqrt(float((ranks.astype(np.float64) ** 2).sum())) / 2
        # Without half ranks, sums move in steps of 2: half a step is added, as for any integer.
        return math.erfc(max(0.0, total / 2 - smaller - 1) / deviation / math.sqrt(2))
    chances = np.zeros(int(ranks.sum()) + 1)  # of each sum
    chances[0], reached = 1.0, 0
    for rank in ranks.tolist():
        reached += rank
        chances[: reached + 1] /= 2
        chances[rank : reached + 1] += chances[: reached + 1 - rank].copy()
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))
