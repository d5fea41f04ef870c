"""Numbers drawn by a seed, and their cuts, compared with groups of three digits from either side.

They are whole numbers of 1 to 12 digits, decimals and dates. Each length has the same number of them, so that a mean
over numbers is one over lengths. Draws are the same on every machine and with every version of NumPy.

A *cut* of a number is a bit for each place inside it: bit k - 1 says that a token ends behind its k-th digit.

>>> ideal_cut(7, "right"), ideal_cut(7, "left")  # 1|234|567 and 123|456|7
(9, 36)
>>> scores(np.array([9, 8, 0]), np.array([7, 7, 7]), "right")[2].round(2).tolist()
[1.0, 0.67, 0.0]
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Side: TypeAlias = Literal["right", "left"]

MOST_DIGITS = 63  # of any number: the places inside fit into 64 bits
LONGEST = 12  # digits of whole numbers
PER_KIND = 2048  # whole numbers of each length, decimals, and dates of each form
_FIRST_DAY, _DAYS = dt.date(1900, 1, 1).toordinal(), 73049  # to the end of 2099


def whole_numbers(seed: int) -> NDArray[np.int64]:
    """Return whole numbers, int64 [LONGEST, PER_KIND]: row k has k + 1 digits, the first of which is 0 only alone."""
    rows = []
    for digits in range(1, LONGEST + 1):
        least = 10 ** (digits - 1) if digits > 1 else 0
        rows.append(least + _draws(seed, digits) % np.uint64(10**digits - least))
    return np.array(rows).astype(np.int64)


def written(form: str, seed: int) -> list[str]:
    """Return the decimals or dates of a form, a key of ``FORMS``."""
    return FORMS[form](_draws(seed, LONGEST + 1 + list(FORMS).index(form)).tolist())


def _draws(seed: int, series: int) -> NDArray[np.uint64]:
    return np.asarray(np.random.PCG64([seed, series]).random_raw(PER_KIND), np.uint64)


def _decimals(draws: Sequence[int]) -> list[str]:
    """One to four digits before the point, and one to four behind it."""
    texts = []
    for draw in draws:
        before, behind = 1 + draw % 4, 1 + (draw >> 2) % 4
        texts.append(f"{(draw >> 4) % 10**before}.{(draw >> 32) % 10**behind:0{behind}}")
    return texts


def _dates(pattern: str) -> Callable[[Sequence[int]], list[str]]:
    def of(draws: Sequence[int]) -> list[str]:
        days = (dt.date.fromordinal(_FIRST_DAY + draw % _DAYS) for draw in draws)
        return [pattern.format(day=day) for day in days]

    return of


FORMS: Mapping[str, Callable[[Sequence[int]], list[str]]] = {
    "decimals": _decimals,
    "ISO dates": _dates("{day.year:04}-{day.month:02}-{day.day:02}"),
    "dates": _dates("{day.day:02}/{day.month:02}/{day.year:04}"),
}


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
    for place in range(MOST_DIGITS - 1):
        counts += cuts >> place & 1
    return counts


def scores(cuts: Integers, digits: Integers, side: Side) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F1 of each number, float64 [numbers].

    Precision is 1 without a cut, recall is 1 without an ideal one; F1 is 1 if there is neither, and 0 if there is one
    of them alone. As in TokEval, Three-Digit Place-Value Boundary Alignment.
    """
    ideals = np.array([ideal_cut(count, side) for count in range(MOST_DIGITS + 1)], np.int64)[digits]
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
