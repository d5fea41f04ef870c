"""Trimmed t of launches: estimate, interval and p of one statistic, which one launch in ten cannot spoil.

Of every eight values, one is cut off at each end (Tukey and McLaughlin 1963; the case of one sample of Yuen 1974). It
was chosen by simulation among others, which ``studies/gate_rule.py`` plays: docs/gate.md "Which statistic".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pyharness.statistics.hypotheses import t_survival
from pyharness.statistics.jackknife import t_quantile

SPREAD_OF_NOTHING = 1e-9  # of logarithms of times: no clock tells a billionth apart
CUT = 8  # values for each one that is cut off at each end; of fewer, the p of what is left is too small


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean of what is left when every eighth value is cut off at each end; of fewer than eight, of all of them."""
    cut = len(values) // CUT
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def _error(values: Sequence[float]) -> tuple[float, int]:
    """Standard error of ``trimmed_mean``, from winsorised values, and its degrees of freedom; two values or more."""
    count, cut = len(values), len(values) // CUT
    kept = sorted(values)[cut : count - cut]
    squares = statistics.variance([kept[0]] * cut + kept + [kept[-1]] * cut) * (count - 1)
    return math.sqrt(squares / (len(kept) * (len(kept) - 1))), len(kept) - 1


def p_greater(values: Sequence[float], null: float) -> float:
    """One-sided p of "the trimmed mean is at most ``null``".

    Fewer than two values say nothing: 1. Values without spread would have p = 0, which is more than a few values can
    know (a clock may be coarse): they get what their signs say, 2^-n where all are above ``null``.
    """
    if len(values) < 2:
        return 1.0
    error, freedom = _error(values)
    if error <= SPREAD_OF_NOTHING:
        above = sum(value - null > SPREAD_OF_NOTHING for value in values)
        return math.ldexp(sum(math.comb(len(values), k) for k in range(above, len(values) + 1)), -len(values))
    return t_survival((trimmed_mean(values) - null) / error, freedom)


def trimmed_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the trimmed mean; None below two values."""
    if len(values) < 2:
        return None
    middle, (error, freedom) = trimmed_mean(values), _error(values)
    half = t_quantile(freedom) * error
    return middle - half, middle + half
