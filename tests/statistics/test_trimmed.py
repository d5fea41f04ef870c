"""The trimmed t: against scipy, and what one launch among ten does to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pyharness.features.gate.verdicts.times import CUT, p_greater, trimmed_interval, trimmed_mean

NUMBERS = st.lists(st.integers(-1000, 1000), min_size=2, max_size=32)


def spread_out(numbers: list[int]) -> bool:
    cut = len(numbers) // CUT
    return len(set(sorted(numbers)[cut : len(numbers) - cut])) > 1


@given(NUMBERS.filter(spread_out))
def test_one_sided_p_is_scipys(numbers: list[int]) -> None:
    """Welch's form of Yuen's test beside values without variance is the test of one sample."""
    values = np.array(numbers) / 1e4
    share = (len(values) // CUT) / len(values) + 1e-9
    known = stats.ttest_ind(values - 0.01, np.zeros(len(values)), equal_var=False, trim=share, alternative="greater")
    assert p_greater(list(values), 0.01) == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)


@given(NUMBERS.filter(spread_out))
def test_interval_is_where_p_of_either_side_is_a_fortieth(numbers: list[int]) -> None:
    values = [number / 1e4 for number in numbers]
    interval = trimmed_interval(values)
    assert interval is not None
    low, high = interval
    assert low < trimmed_mean(values) < high
    assert p_greater(values, low) == pytest.approx(0.025, abs=1e-5)
    assert p_greater([-value for value in values], -high) == pytest.approx(0.025, abs=1e-5)


@pytest.mark.parametrize("count", [2, 7, 8, 10, 15, 16, 30, 32])
def test_mean_is_scipys(count: int) -> None:
    values = list(np.random.default_rng(count).standard_t(2, count))
    assert trimmed_mean(values) == pytest.approx(stats.trim_mean(values, (count // CUT) / count + 1e-9))


@pytest.mark.parametrize("outlier", [1.1, -1.1])
def test_one_launch_three_times_as_slow_hides_nothing(outlier: float) -> None:
    values = [0.095, 0.1, 0.098, 0.102, 0.094, 0.099, 0.105, 0.097, 0.101, outlier]
    interval = trimmed_interval(values)
    assert p_greater(values, 0.01) < 1e-6
    assert interval is not None
    assert 0.09 < interval[0] < trimmed_mean(values) < interval[1] < 0.11


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([], 1.0), ([0.5], 1.0), ([0.05] * 5, 1 / 32), ([0.01] * 5, 1.0), ([0.0] * 5, 1.0),
        ([0.05, 0.05 + 1e-13], 0.25), ([0.05] * 9 + [-0.2], 11 / 1024), ([0.05] * 10, 1 / 1024),
    ],
)  # fmt: skip
def test_values_without_spread_are_not_certain(values: list[float], p: float) -> None:
    assert p_greater(values, 0.01) == p


def test_of_less_than_two_values_there_is_no_interval() -> None:
    assert trimmed_interval([1.0]) is None
