"""Rows measured in rounds: their order, the ratios within a round, and the interval of the mean ratio.

A machine drifts: it warms up, others use it. Rows measured one after the other would meet different machines. So all
rows take a turn in every round. A ratio is formed within a round, where both of its sides had about the same machine.
The order changes from round to round, so that no row has the better place. ``studies/rounds.py`` simulates how often
the interval covers, under drift and noise: docs/measuring.md "Rows in rounds".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from pyharness.statistics.jackknife import t_quantile

_LARGEST = math.log(sys.float_info.max)


def turns(count: int, number: int) -> list[int]:
    """Return the order of ``count`` rows in round ``number``: odd rounds reverse the one before, then all move up.

    Over such a pair all rows have the same mean place, so a linear drift cancels.

    >>> [turns(3, number) for number in range(4)]
    [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]]
    """
    first = number // 2 % count if count else 0
    order = [*range(first, count), *range(first)]
    return order[::-1] if number % 2 else order


def ratios(values: Sequence[float], reference: Sequence[float]) -> tuple[float, ...]:
    """Return the ratio of every round to the reference in the same round; both have one positive value per round.

    >>> ratios([2.0, 3.0], [1.0, 2.0])
    (2.0, 1.5)
    """
    return tuple(value / other for value, other in zip(values, reference, strict=True))


def mean_ratio(per_round: Sequence[float]) -> float:
    """Return the geometric mean: that of the inverse ratios is its inverse.

    >>> mean_ratio([0.5, 2.0])
    1.0
    """
    return math.exp(_mean(_logarithms(per_round)))


def ratio_interval(per_round: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean ratio, from Student's t on the logarithms of the ratios.

    None below two rounds, or where the upper end overflows a float.
    """
    count = len(per_round)
    if count < 2:
        return None
    logs = _logarithms(per_round)
    middle = _mean(logs)
    variance = math.fsum((log - middle) ** 2 for log in logs) / (count - 1)
    half = t_quantile(count - 1) * math.sqrt(variance / count)
    if middle + half > _LARGEST:
        return None
    return math.exp(middle - half), math.exp(middle + half)


def _logarithms(per_round: Sequence[float]) -> list[float]:
    return [math.log(ratio) for ratio in per_round]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
