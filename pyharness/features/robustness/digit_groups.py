"""Cuts of numbers, compared with groups of three digits from either side.

A *cut* of a number is a bit for each place inside it: bit k - 1 says that a token ends behind its k-th digit.

>>> ideal_cut(7, "right"), ideal_cut(7, "left")  # 1|234|567 and 123|456|7
(9, 36)
>>> scores(np.array([9, 8, 0]), np.array([7, 7, 7]), "right")[2].round(2).tolist()
[1.0, 0.67, 0.0]
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Side: TypeAlias = Literal["right", "left"]

LONGEST = 63  # digits: the places inside fit into 64 bits


def ideal_cut(digits: int, side: Side) -> int:
    """Return the cut of a number of so many digits into groups of three."""
    places = range(digits - 3, 0, -3) if side == "right" else range(3, digits, 3)
    return sum(1 << (place - 1) for place in places)


def cut_of(ends: Integers, start: int, digits: int) -> int:
    """Return the cut of a number that starts at a byte of a text, whose tokens end at ``ends``, int64 [tokens]."""
    inside = ends[(ends > start) & (ends < start + digits)] - start
    return int((1 << (inside - 1)).sum())


def pieces(cuts: Integers) -> Integers:
    """Return the number of pieces that each cut makes, int64 of the same shape."""
    counts = np.ones(cuts.shape, np.int64)
    for place in range(LONGEST - 1):
        counts += cuts >> place & 1
    return counts


def scores(cuts: Integers, digits: Integers, side: Side) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F1 of each number, float64 [numbers].

    Precision is 1 without a cut, recall is 1 without an ideal one; F1 is 1 if there is neither, and 0 if there is one
    of them alone. As in TokEval, Three-Digit Place-Value Boundary Alignment.
    """
    ideals = np.array([ideal_cut(count, side) for count in range(LONGEST + 1)], np.int64)[digits]
    right, cut, wanted = pieces(cuts & ideals) - 1, pieces(cuts) - 1, pieces(ideals) - 1
    precision, recall = (np.where(whole > 0, right / np.maximum(whole, 1), 1.0) for whole in (cut, wanted))
    either = cut + wanted
    return precision, recall, np.where(either > 0, 2 * right / np.maximum(either, 1), 1.0)


def entropy(cuts: Integers) -> float:
    """Return the Shannon entropy of the distribution of cuts, in bits."""
    shares = np.unique(cuts, return_counts=True)[1] / len(cuts)
    return max(0.0, -float((shares * np.log2(shares)).sum()))


def rank_correlation(first: Integers, second: Integers) -> float | None:
    """Return Spearman's correlation of two series; None if one is constant. Equal values share their mean rank."""
    ranks = [_ranks(values) for values in (first, second)]
    if any(one.min() == one.max() for one in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Integers) -> Floats:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    stops = np.cumsum(counts)
    return np.asarray(((2 * stops - counts - 1) / 2)[which])
