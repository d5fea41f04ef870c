"""Statistics that the gate's rule could have used, for ``gate_rule.py``: each an estimate, its interval and its p.

Values are logarithms of continuous times: there are no ties.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyharness.features.gate.verdicts import times
from pyharness.features.gate.verdicts.hypotheses import t_survival
from pyharness.statistics.jackknife import t_quantile
from pyharness.statistics.samples import median

REACH = 12.0  # median deviations from which a launch counts as nothing in the biweight
FREEDOM = 0.7  # degrees of freedom of the biweight, of n - 1 (Gross 1976)

Values = Sequence[float]


@dataclass(frozen=True)
class Statistic:
    """What is said of the launches of one benchmark."""

    name: str
    estimate: Callable[[Values], float]
    interval: Callable[[Values], tuple[float, float] | None]  # 95 %
    p: Callable[[Values, float], float]  # one-sided, of "no more than this"


def _by_t(
    middle: Callable[[Values], float], error: Callable[[Values], tuple[float, float]]
) -> tuple[Callable[[Values], tuple[float, float]], Callable[[Values, float], float]]:
    """Interval and p of what is distributed as t; ``error``: standard error and degrees of freedom."""

    def interval(values: Values) -> tuple[float, float]:
        width, freedom = error(values)
        half = t_quantile(freedom) * width
        return middle(values) - half, middle(values) + half

    def p(values: Values, null: float) -> float:
        width, freedom = error(values)
        return t_survival((middle(values) - null) / width, freedom)

    return interval, p


def _mean_error(values: Values) -> tuple[float, float]:
    return statistics.stdev(values) / math.sqrt(len(values)), len(values) - 1


def biweight(values: Values) -> float:
    """Tukey's biweight: launches count the less the further out they are, and nothing from ``REACH`` on."""
    middle = median(values)
    scale = REACH * median([abs(value - middle) for value in values])
    for _ in range(10):
        weights = [max(0.0, 1 - ((value - middle) / scale) ** 2) ** 2 for value in values]
        products = (weight * value for weight, value in zip(weights, values, strict=True))
        middle = math.fsum(products) / math.fsum(weights)
    return middle


def _biweight_error(values: Values) -> tuple[float, float]:
    """Asymptotic standard error (Mosteller and Tukey 1977)."""
    middle, centre = biweight(values), median(values)
    scale = REACH * median([abs(value - centre) for value in values])
    near = [(value - middle) / scale for value in values if abs(value - middle) < scale]
    above = scale * scale * math.fsum((part * (1 - part * part) ** 2) ** 2 for part in near)
    below = max(0.3, math.fsum((1 - part * part) * (1 - 5 * part * part) for part in near))
    return math.sqrt(above / (below * max(1.0, below - 1))), FREEDOM * (len(values) - 1)


@lru_cache(maxsize=64)
def rank_tails(count: int) -> tuple[float, ...]:
    """P(W >= w) for w from 0 on, W the sum of the ranks of positive values among ``count`` (Wilcoxon 1945)."""
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        ways = [own + (longer[place - rank] if place >= rank else 0) for place, own in enumerate(longer)]
    return tuple(sum(ways[place:]) / 2**count for place in range(len(ways)))


def wilcoxon_p(values: Values, null: float) -> float:
    """Exact p of the signed ranks."""
    ranked = sorted((value - null for value in values), key=abs)
    return rank_tails(len(values))[sum(rank for rank, value in enumerate(ranked, 1) if value > 0)]


def _averages(values: Values) -> list[float]:
    return sorted((one + other) / 2 for place, one in enumerate(values) for other in values[place:])


def hodges_lehmann(values: Values) -> float:
    """Median of the averages of all pairs."""
    return median(_averages(values))


def wilcoxon_interval(values: Values) -> tuple[float, float] | None:
    """What the two-sided test at 5 % does not reject; None below six values."""
    averages, tails = _averages(values), rank_tails(len(values))
    rejected = sum(tail <= 0.025 for tail in tails)
    return (averages[rejected - 1], averages[-rejected]) if rejected else None


TRIMMED = Statistic("trimmed t", times.trimmed_mean, times.trimmed_interval, times.p_greater)
STUDENT = Statistic("Student's t and the median", median, *_by_t(statistics.fmean, _mean_error))
WILCOXON = Statistic("Wilcoxon", hodges_lehmann, wilcoxon_interval, wilcoxon_p)
BIWEIGHT = Statistic("biweight", biweight, *_by_t(biweight, _biweight_error))
