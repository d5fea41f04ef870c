"""The simulation of the gate's rule: its machines do what they say, and its table is whole."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import gate_rule
import gate_statistics
from pyharness.statistics.launches import LaunchEffect, effect
from pyharness.types import GateVerdict


def deviation(machine: gate_rule.Machine) -> float:
    """What the parts of a launch's shift make together."""
    slow = gate_rule.SLOW_LAYOUTS
    parts = (
        machine.launch**2,
        machine.outliers * gate_rule.THREE_TIMES**2,
        2 * slow * (1 - slow) * machine.layouts**2,
    )
    return math.sqrt(sum(parts))


def test_launches_scatter_as_the_machine_says() -> None:
    for machine in gate_rule.MACHINES:
        generator = random.Random(machine.name)
        shifts = [gate_rule.launch_shift(machine, generator) for _ in range(20_000)]
        assert statistics.stdev(shifts) == pytest.approx(deviation(machine), rel=0.25 if machine.heavy else 0.03)


def test_rounds_are_balanced_and_as_slow_as_asked() -> None:
    generator = random.Random(1)
    (late,) = (one for one in gate_rule.MACHINES if one.second)
    drawn = [gate_rule.rounds(late, 0.05, generator) for _ in range(200)]
    assert {sum(one.head_first) for one in drawn} == {gate_rule.ROUNDS // 2}
    found = [seen for one in drawn if (seen := effect(one)) is not None]
    assert statistics.fmean(seen.log for seen in found) == pytest.approx(0.05, abs=0.003)
    assert statistics.fmean(seen.order or 0 for seen in found) == pytest.approx(0.05, abs=0.003)


def test_tables_have_a_row_for_every_rule() -> None:
    lines = list(gate_rule.tables(8, gate_rule.MACHINES[:1], 5, [0.02, 0.03]))
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + len(gate_rule.variants(0.02)) + 2 + 1
    assert {line.count("|") for line in rows} == {len(gate_rule.HEAD) + 1}


def test_a_statistic_is_the_one_that_judges() -> None:
    """One launch of ten at a third of the time hides a slowdown of 10 % from Student's t, and not from the rule."""
    logs = [0.0953, 0.0953, 0.094, 0.097, 0.095, 0.096, 0.094, 0.0955, 0.0945, 0.096, -1.1]
    launches = [LaunchEffect(log, 0.001, None) for log in logs]
    found = {one.name: gate_rule.judged(one, [launches])[0][0] for one in gate_rule.variants(0.02, everything=True)}
    assert found["Student's t and the median"].verdict is GateVerdict.INCONCLUSIVE
    assert [one.verdict for name, one in found.items() if "the rule" in name] == [GateVerdict.REGRESSION]
    tally = gate_rule.Tally()
    tally.add([0.1], [found["Wilcoxon"]])
    assert (tally.intervals, tally.holding) == (1, 1)


@given(st.lists(st.integers(-9999, 9999), min_size=6, max_size=14))
def test_signed_ranks_are_scipys(numbers: list[int]) -> None:
    values = [number + 0.7 + place / 100 for place, number in enumerate(numbers)]
    if len({abs(value) for value in values}) < len(values):
        return
    known = stats.wilcoxon(values, alternative="greater", method="exact").pvalue
    assert gate_statistics.wilcoxon_p(values, 0) == pytest.approx(known)
    interval = gate_statistics.wilcoxon_interval(values)
    assert interval is not None
    assert interval[0] <= gate_statistics.hodges_lehmann(values) <= interval[1]


def test_interval_of_signed_ranks_is_what_the_test_leaves() -> None:
    generator = random.Random(2)
    for count in (6, 10, 13):
        values = [generator.gauss(0, 1) for _ in range(count)]
        low, high = gate_statistics.wilcoxon_interval(values) or (0.0, 0.0)
        opposite = [-value for value in values]
        assert gate_statistics.wilcoxon_p(values, low - 1e-9) <= 0.025 < gate_statistics.wilcoxon_p(values, low + 1e-9)
        assert gate_statistics.wilcoxon_p(opposite, -high - 1e-9) <= 0.025
        assert gate_statistics.wilcoxon_p(opposite, -high + 1e-9) > 0.025


def test_the_biweight_is_the_mean_without_what_is_far_away() -> None:
    near = [0.01, 0.02, 0.03, 0.04, 0.05]
    assert gate_statistics.biweight([*near, 50.0]) == pytest.approx(0.03, abs=0.002)
    low, high = gate_statistics.BIWEIGHT.interval([*near, 50.0]) or (0.0, 0.0)
    assert low < 0.03 < high
    assert high - low < 0.1
