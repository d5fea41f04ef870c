"""Steps in a series: the scan is what its definition says, and finds what was planted."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness.features.history.steps import FEWEST, LEVEL, LevelStep, scan, seeded_intervals, steps, threshold

EFFECT = 0.015
MADE_UP = st.lists(st.sampled_from([0.0, 0.01, 0.02, 0.05]) | st.floats(-0.1, 0.1), max_size=70)
LEVELS = st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0.0, 0.02, 0.05])), max_size=4)


def statistic(left: Sequence[float], right: Sequence[float]) -> float:
    """Size of the rank sum in standard deviations, from pairs: the pages of any textbook on Wilcoxon's test."""
    wins = sum((one < other) - (one > other) for one in left for other in right)
    count = len(left) + len(right)
    tied = sum(number**3 - number for number in Counter([*left, *right]).values())
    variance = len(left) * len(right) / 12 * (count + 1 - tied / (count * (count - 1)))
    return round(abs(wins) / 2 / math.sqrt(variance), 9) if variance > 1e-9 else 0.0


def intervals(count: int) -> list[tuple[int, int]]:
    """Seeded intervals as (begin, end), layer by layer."""
    found, layer = [], 0
    while (length := math.ceil(round(count / math.sqrt(2) ** layer, 9))) >= 2 * FEWEST:
        number = 2 * math.ceil(round(math.sqrt(2) ** layer, 9)) - 1
        begins = [0] if number == 1 else [int(place * (count - length) / (number - 1)) for place in range(number)]
        found += [(begin, begin + length) for begin in dict.fromkeys(begins)]
        layer += 1
    return found


def splits(values: Sequence[float]) -> list[int]:
    """Splits by the definition: the narrowest interval above the threshold, then both sides."""
    candidates = []
    for first, last in intervals(len(values)):
        sizes = {
            place: statistic(values[first:place], values[place:last])
            for place in range(first + FEWEST, last - FEWEST + 1)
        }
        best = max(sizes, key=lambda place: sizes[place])
        if sizes[best] > threshold(len(values)):
            candidates.append((last - first, -sizes[best], best))
    if not candidates:
        return []
    split = min(candidates, key=lambda one: one[:2])[2]
    return [*splits(values[:split]), split, *(split + one for one in splits(values[split:]))]


def reference(values: Sequence[float], effect: float) -> tuple[LevelStep, ...]:
    kept = splits(values)
    while kept:
        bounds = [0, *kept, len(values)]
        levels = [statistics.median(values[a:b]) for a, b in pairwise(bounds)]
        sizes = [abs(after - before) for before, after in pairwise(levels)]
        if min(sizes) >= effect:
            return tuple(map(LevelStep, kept, levels, levels[1:]))
        del kept[sizes.index(min(sizes))]
    return ()


@settings(max_examples=examples(300))
@given(MADE_UP)
def test_any_series_has_the_steps_of_the_definition(values: list[float]) -> None:
    assert steps(values, EFFECT) == reference(values, EFFECT)


@settings(max_examples=examples(100))
@given(LEVELS, st.integers(0, 1000))
def test_planted_levels_have_the_steps_of_the_definition(levels: list[tuple[int, float]], seed: int) -> None:
    plain = np.concatenate([np.zeros(0), *(np.full(*level) for level in levels)])
    values = plain + np.random.default_rng(seed).normal(0, 0.004, len(plain)).round(4)
    assert steps(values, EFFECT) == reference(values.tolist(), EFFECT)


@pytest.mark.parametrize("count", [0, 9, 10, 37, 100])
def test_intervals_are_those_of_the_definition(count: int) -> None:
    layers = seeded_intervals(count)
    assert [(int(begin), int(begin) + length) for length, begins in layers for begin in begins] == intervals(count)


def test_each_series_of_a_scan_is_scanned_alone() -> None:
    series = np.random.default_rng(3).normal(size=(4, 40))
    together = scan(series)
    for row, one in enumerate(series):
        alone = scan(one[None])
        assert np.array_equal(alone.statistics[0], together.statistics[row])
        assert np.array_equal(alone.splits[0], together.splits[row])


def test_a_step_is_found_once_seven_points_show_it_and_where_it_is_taken_back() -> None:
    noise = np.random.default_rng(1).normal(0, 0.003, 100)
    values = noise + 0.03 * ((np.arange(100) >= 40) & (np.arange(100) < 55))
    up, down = steps(values, EFFECT)
    assert (up.index, down.index) == (40, 55)
    assert up.effect == pytest.approx(0.03, abs=0.003)
    assert down.effect == pytest.approx(-0.03, abs=0.003)
    assert steps(values[:45], EFFECT) == ()
    assert [step.index for step in steps(values[:48], EFFECT)] == [40]


# Encode of the planted project at load averages of 7 to 12: commits 1 to 33 without 18, per cent above commit 0.
PLANTED = [0.4, 0.6, -0.4, 1.0, -3.2, -0.3, -1.1, 1.2, 0.1, -0.9, -0.8, 4.8, 5.5, 5.5, 1.9, 4.6, 5.3, 5.4, 4.5, 5.8,
           4.9, 13.5, 3.8, 4.5, 2.2, 1.7, -1.4, -1.0, 0.0, 0.2, 0.6, 0.1]  # fmt: skip


def test_a_short_level_behind_a_step_is_found_although_two_of_its_points_lie_otherwise() -> None:
    up, down = steps(np.array(PLANTED) / 100, EFFECT)
    assert (up.index, down.index) == (11, 24)
    assert down.effect == pytest.approx(-0.048, abs=0.01)


def test_a_step_below_the_effect_is_none_and_a_drift_is_one() -> None:
    noise = np.random.default_rng(2).normal(0, 0.002, 100)
    assert steps(noise + 0.01 * (np.arange(100) >= 50), EFFECT) == ()
    drift = steps(noise + np.interp(np.arange(100), [20, 80], [0, 0.03]), EFFECT)
    assert sum(step.effect for step in drift) > EFFECT


@pytest.mark.parametrize("values", [[], [0.1] * 9, [0.1] * 200, list(np.arange(9))])
def test_few_points_and_equal_ones_have_no_steps(values: list[float]) -> None:
    assert steps(values, 0.0) == ()


@pytest.mark.parametrize("count", [20, 50])
def test_the_threshold_keeps_its_level(count: int) -> None:
    draws = examples(20_000)
    largest = scan(np.random.default_rng(count).random((draws, count))).statistics.max(axis=1)
    alarms = int((largest > threshold(count)).sum())
    assert alarms <= LEVEL * draws + 4 * math.sqrt(LEVEL * draws) + 1


def test_a_longer_series_needs_more() -> None:
    thresholds = [threshold(count) for count in range(0, 5000, 7)]
    assert thresholds == sorted(thresholds)
