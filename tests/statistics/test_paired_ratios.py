"""Rows that take turns: order, ratios, and how often the interval of a ratio covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.statistics.rounds import mean_ratio, ratio_interval, ratios, turns
from pyharness.statistics.samples import interval_of
from pyharness.types import Measurement


@given(st.integers(1, 12), st.integers(0, 100))
def test_everybody_has_one_turn_and_two_rounds_balance_the_places(count: int, number: int) -> None:
    orders = [turns(count, 2 * number), turns(count, 2 * number + 1)]
    for order in orders:
        assert sorted(order) == list(range(count))
    places = [sum(order.index(row) for order in orders) for row in range(count)]
    assert places == [count - 1] * count


@given(st.integers(2, 12))
def test_everybody_is_first_equally_often(count: int) -> None:
    first = [turns(count, number)[0] for number in range(2 * count)]
    assert [first.count(row) for row in range(count)] == [2] * count


def test_nobody_takes_no_turn() -> None:
    assert turns(0, 3) == []


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=40))
def test_the_interval_of_the_inverse_is_the_inverse(values: list[float]) -> None:
    inverse = [1 / value for value in values]
    low, high = ratio_interval(values) or (0, 0)
    other_low, other_high = ratio_interval(inverse) or (0, 0)
    assert low <= mean_ratio(values) * (1 + 1e-12)
    assert mean_ratio(values) <= high * (1 + 1e-12)
    assert (1 / other_high, 1 / other_low) == pytest.approx((low, high))
    assert mean_ratio(inverse) == pytest.approx(1 / mean_ratio(values))


def test_it_is_students_interval_of_the_logarithms() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = [1.1, 1.3, 0.9, 1.2, 1.05]
    logs = np.log(values)
    expected = stats.t.interval(0.95, 4, logs.mean(), stats.sem(logs))
    assert ratio_interval(values) == pytest.approx(tuple(np.exp(expected)), rel=1e-6)


def test_one_round_has_no_interval_and_rounds_are_pairs() -> None:
    assert ratio_interval([2.0]) is None
    assert ratio_interval([2.0, 2.0]) == pytest.approx((2.0, 2.0))
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


def test_every_kind_of_measurement_has_its_interval() -> None:
    samples = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7)
    assert interval_of(Measurement("x", 1.3, samples=samples, paired=True)) == ratio_interval(samples)
    assert interval_of(Measurement("x", 1.35, samples=samples)) == (1.0, 1.7)
    assert interval_of(Measurement("x", 1.3, samples=samples[:3])) is None
    assert interval_of(Measurement("x", None, reason="none", samples=samples, paired=True)) is None
    assert interval_of(Measurement("x", 3)) is None


def times(generator: np.random.Generator, rows: int, rounds: int, *, balanced: bool) -> np.ndarray:
    """Logarithms of seconds [rounds, rows] of rows that are equally fast, on a machine that gets slower and wanders."""
    steps = rows * rounds
    drift = 0.05 * np.arange(steps) / rows + np.cumsum(generator.normal(0, 0.01, steps))
    seen = drift + generator.normal(0, 0.01, steps)
    logs, step = np.empty((rounds, rows)), 0
    for number in range(rounds):
        for row in turns(rows, number) if balanced else range(rows):
            logs[number, row] = seen[step]
            step += 1
    return logs


@pytest.mark.parametrize("rounds", [4, 10])
def test_it_covers_under_drift_where_a_fixed_order_does_not(rounds: int) -> None:
    generator = np.random.default_rng(5)
    covered = {True: 0, False: 0}
    for _ in range(400):
        for balanced in covered:
            logs = times(generator, 3, rounds, balanced=balanced)
            interval = ratio_interval([math.exp(ratio) for ratio in logs[:, 1] - logs[:, 0]])
            assert interval is not None
            covered[balanced] += interval[0] <= 1 <= interval[1]
    assert covered[True] >= 0.93 * 400
    assert covered[False] < 0.85 * 400


def test_an_interval_beyond_all_floats_is_none() -> None:
    assert ratio_interval([1e-140, 1e140]) is None
    assert ratio_interval([1e140, 1e140]) is not None
