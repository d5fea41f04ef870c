"""Intervals: the quantiles, the formula, coverage, and pairs."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from pyharness.metrics.jackknife import T_QUANTILES, interval, paired_interval
from pyharness.metrics.state import GROUPS, MIN_GROUPS
from pyharness.timing import median, median_interval, percentile
from pyharness.types import Measurement


@pytest.mark.parametrize("groups", range(MIN_GROUPS, GROUPS + 1))
def test_quantiles_are_students(groups: int) -> None:
    assert T_QUANTILES[groups - MIN_GROUPS] == pytest.approx(stats.t.ppf(0.975, groups - 1), abs=1e-6)


def replicates_of_ratio(pairs: list[tuple[float, float]]) -> tuple[float, list[float | None]]:
    top, bottom = (sum(values) for values in zip(*pairs, strict=True))
    return top / bottom, [(top - a) / (bottom - b) for a, b in pairs]


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = random.Random(7)
    covered = 0
    for _ in range(1000):
        groups = []
        for _ in range(GROUPS):
            bottom = generator.uniform(50, 150)
            groups.append((4 * bottom + generator.gauss(0, 10), bottom))
        value, replicates = replicates_of_ratio(groups)
        found = interval(value, replicates)
        assert found is not None
        covered += found[0] <= 4 <= found[1]
    assert 925 <= covered <= 975


def test_few_groups_give_no_interval() -> None:
    assert interval(1.0, [1.0] * (MIN_GROUPS - 1) + [None] * 17) is None
    assert interval(None, [1.0] * GROUPS) is None


def test_pairs_are_narrower_than_two_intervals() -> None:
    generator = random.Random(3)
    bytes_of = [generator.uniform(1000, 9000) for _ in range(GROUPS)]
    density = [generator.uniform(3, 5) for _ in range(GROUPS)]
    a = [(size, size / d) for size, d in zip(bytes_of, density, strict=True)]
    b = [(size, size / (d * 1.003)) for size, d in zip(bytes_of, density, strict=True)]
    first, second = (Measurement("m", v, replicates=tuple(r)) for v, r in map(replicates_of_ratio, (a, b)))
    difference, alone = paired_interval(first, second), interval(first.value, first.replicates)
    assert difference is not None
    assert alone is not None
    assert difference[0] > 0
    assert difference[1] - difference[0] < (alone[1] - alone[0]) / 20


def test_median_interval_holds_its_level() -> None:
    for count in range(6, 60):
        values = list(range(count))
        found = median_interval(values)
        assert found is not None
        below = int(found[0])  # ranks left out at each end
        assert 2 * stats.binom.cdf(below, count, 0.5) <= 0.05
        assert 2 * stats.binom.cdf(below + 1, count, 0.5) > 0.05
    assert median_interval([1, 2, 3, 4, 5]) is None


def test_median_and_percentiles() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    values = list(range(1, 101))
    assert [percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)] == [50, 90, 99, 100]
    assert percentile([5.0], 0.5) == 5.0
    assert math.isclose(percentile([1, 2], 0.5), 1)
