"""Student's t, Holm, signs and bounds: against scipy, and against slow references."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pyharness.features.gate.verdicts.hypotheses import (
    difference_interval,
    holm,
    incomplete_beta,
    rate_bound,
    sign_test,
    t_survival,
)

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


@given(st.floats(-50, 50), st.floats(1, 200))
def test_survival_is_students(t: float, freedom: float) -> None:
    assert t_survival(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-7, abs=1e-300)


@given(st.floats(0.5, 600), st.floats(0.5, 600), st.floats(0, 1))
def test_incomplete_beta(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-7, abs=1e-12)


def slow_holm(p_values: list[float]) -> list[float]:
    """Smallest level at which each hypothesis is rejected, step by step as Holm (1979) has it."""
    count = len(p_values)

    def rejected(level: float) -> set[int]:
        gone: set[int] = set()
        while left := [place for place in range(count) if place not in gone]:
            place = min(left, key=lambda one: p_values[one])
            if p_values[place] * len(left) > level:
                break
            gone.add(place)
        return gone

    levels = sorted({min(1.0, factor * p) for p in p_values for factor in range(1, count + 1)} | {1.0})
    return [next((level for level in levels if place in rejected(level)), 1.0) for place in range(count)]


@given(P_VALUES)
def test_holm_is_the_slow_procedure(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(slow_holm(p_values))


@given(P_VALUES, st.randoms())
def test_holm_does_not_depend_on_the_order(p_values: list[float], generator: random.Random) -> None:
    mixed = generator.sample(range(len(p_values)), len(p_values))
    assert [holm(p_values)[place] for place in mixed] == holm([p_values[place] for place in mixed])


@given(st.integers(0, 60), st.integers(0, 60))
def test_signs(positive: int, negative: int) -> None:
    if count := positive + negative:
        assert sign_test(positive, count) == pytest.approx(stats.binomtest(positive, count).pvalue)
    else:
        assert sign_test(0, 0) == 1


@pytest.mark.parametrize(("events", "count"), [(0, 1), (0, 100), (0, 300), (1, 510), (3, 72), (40, 41), (5, 5)])
def test_bound_of_a_rate(events: int, count: int) -> None:
    exact = stats.binomtest(events, count, alternative="less").proportion_ci(0.95, method="exact").high
    assert rate_bound(events, count) == pytest.approx(exact, abs=1e-9)


def test_interval_of_a_difference_is_scipys() -> None:
    values, others = [0.01, 0.03, 0.02, 0.05, 0.01], [0.0, 0.01, 0.02]
    both = stats.ttest_ind(values, others).confidence_interval(0.95)
    assert difference_interval(values, others) == pytest.approx((both.low, both.high), rel=1e-6)
    assert difference_interval([1.0], [2.0]) is None
    assert difference_interval([1.0, 2.0, 3.0], []) is None
