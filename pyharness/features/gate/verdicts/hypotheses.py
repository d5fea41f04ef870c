"""Hypothesis tests without a library: Student's t, Holm, signs, and bounds of a rate.

Tests compare them with scipy or with a slow reference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pyharness.statistics.jackknife import t_quantile

_TINY = 1e-300
_STEPS = 500  # of a continued fraction that needs about the root of its larger parameter


def t_survival(t: float, freedom: float) -> float:
    """Return P(T > t) of Student's t (NIST DLMF 8.17, Abramowitz and Stegun 26.7.1), given degrees of freedom."""
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return tail if t >= 0 else 1 - tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), a, b > 0, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on one side of the mean: DLMF 8.17.4 gives the other
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method (Thompson and Barnett)."""
    upper, lower = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = lower
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            lower = 1 / _away_from_zero(1 + term * lower)
            upper = _away_from_zero(1 + term / upper)
            value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p values, in the order given (Holm 1979): all of them below a level hold together at that level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def difference_interval(values: Sequence[float], others: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of mean(``values``) - mean(``others``), one variance for both; None below 3 values."""
    freedom = len(values) + len(others) - 2
    if not values or not others or freedom < 1:
        return None
    middles = statistics.fmean(values), statistics.fmean(others)
    squares = [(value - middles[0]) ** 2 for value in values] + [(value - middles[1]) ** 2 for value in others]
    error = math.sqrt(math.fsum(squares) / freedom * (1 / len(values) + 1 / len(others)))
    difference = middles[0] - middles[1]
    return difference - t_quantile(freedom) * error, difference + t_quantile(freedom) * error


def sign_test(positive: int, count: int) -> float:
    """Return the two-sided p of ``positive`` signs among ``count`` where both signs are equally likely.

    >>> sign_test(33, 37) < 0.00001
    True
    """
    fewer = min(positive, count - positive)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(fewer + 1)) / (1 << count))


def rate_bound(events: int, count: int, confidence: float = 0.95) -> float:
    """Return the upper bound of a rate, from ``events`` in ``count`` trials (Clopper and Pearson 1934, one-sided).

    >>> f"{rate_bound(0, 300):.4f}"
    '0.0099'
    """
    if events >= count:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        # P(X <= events), which falls with the rate.
        if incomplete_beta(count - events, events + 1, 1 - rate) > 1 - confidence:
            low = rate
        else:
            high = rate
    return high
