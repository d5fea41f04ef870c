"""The simulation of the gate's rule: its machines do what they say, and its table is whole."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import gate_rule
import gate_statistics
from pyharness.features.gate.types import GateRules, GateVerdict, Rounds, Timing
from pyharness.features.gate.verdicts.effects import LaunchEffect, effect


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
        if not machine.tail and machine.recorded is None:
            shifts = gate_rule.launch_shifts(machine, (20_000,), np.random.default_rng(1))
            assert shifts.std() == pytest.approx(deviation(machine), rel=0.03)


def test_a_tail_is_that_of_t_with_the_deviation_of_a_machine_without() -> None:
    (heavy,) = (one for one in gate_rule.MACHINES if one.tail == 3)
    shifts = gate_rule.launch_shifts(heavy, (200_000,), np.random.default_rng(1))
    assert np.quantile(shifts, 0.9) == pytest.approx(heavy.launch * stats.t.ppf(0.9, 3), rel=0.03)
    assert heavy.launch * math.sqrt(3) == pytest.approx(0.011)


def late(shift: float) -> tuple[gate_rule.Floats, gate_rule.Floats, NDArray[np.bool_]]:
    (machine,) = (one for one in gate_rule.MACHINES if one.second)
    return gate_rule.rounds(machine, np.full(200, shift), np.random.default_rng(1))


def test_rounds_are_balanced_and_as_slow_as_asked() -> None:
    base, head, first = late(0.05)
    assert set(first.sum(axis=-1)) == {gate_rule.ROUNDS // 2}
    assert set(first.reshape(200, -1, 2).sum(axis=-1).ravel()) == {1}
    assert gate_rule.effects(base, head, first)[0].mean() == pytest.approx(0.05, abs=0.003)
    second = np.where(first, base - head, head - base) + np.where(first, 0.05, -0.05)
    assert np.median(second) == pytest.approx(0.05, abs=0.005)


def test_effects_are_those_of_the_product() -> None:
    base, head, first = late(0.03)
    logs, errors = gate_rule.effects(base, head, first)
    for place in range(20):
        times = [tuple(Timing(1, round(1e12 * math.exp(log))) for log in part[place]) for part in (base, head)]
        found = effect(Rounds("", 0, 1, times[0], times[1], tuple(map(bool, first[place]))))
        assert found is not None
        assert (found.log, found.error) == pytest.approx((logs[place], errors[place]), abs=1e-9)


@pytest.mark.parametrize("loaded", [False, True])
def test_recorded_launches_are_of_identical_code(loaded: bool) -> None:
    pools = gate_rule.recorded(loaded)
    assert len(pools) == 10
    assert min(len(pool) for pool in pools) >= 30
    assert all(abs(np.median(pool[:, 0])) < 0.005 for pool in pools)
    (machine,) = (one for one in gate_rule.MACHINES if one.name == "recorded, twice as wide")
    logs, errors = gate_rule.gates(machine, np.full((3, 12), 0.05), np.random.default_rng(1))
    assert logs.shape == errors.shape == (3, 12, 1 + gate_rule.MOST_LAUNCHES)
    pool = gate_rule.recorded(True)[1]
    assert set(np.round((logs[:, 11] - 0.05) / 2, 12).ravel()) <= set(np.round(pool[:, 0], 12))


def test_tables_have_a_row_for_every_rule() -> None:
    lines = list(gate_rule.tables(8, gate_rule.MACHINES[:1], 5, [0.02, 0.03]))
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 * (2 + len(gate_rule.variants(0.02)))
    assert {line.count("|") for line in rows} == {len(gate_rule.HEAD) + 1}


def test_tests_at_several_looks_err_about_as_often_as_one() -> None:
    one = gate_rule.level_of_looks(0.0, 4000, GateRules(launches=5))
    assert one == pytest.approx(0.05, abs=0.01)
    assert gate_rule.level_of_looks(0.0, 4000) == pytest.approx(0.055, abs=0.012)


def test_gates_of_one_machine_are_the_same_each_time() -> None:
    machine = gate_rule.MACHINES[0]
    assert list(gate_rule.drawn(machine, 5, 3)) == list(gate_rule.drawn(machine, 5, 3))


def test_a_statistic_and_looks_are_those_that_judge() -> None:
    """One launch of ten at a third of the time hides a slowdown of 10 % from Student's t, and not from the rule."""
    logs = [0.0953, 0.0953, 0.094, 0.097, 0.095, 0.096, 0.094, 0.0955, 0.0945, 0.096, -1.1]
    launches = [LaunchEffect(log, 0.001, None) for log in logs]
    found = {one.name: gate_rule.judged(one, [launches])[0] for one in gate_rule.variants(0.02, everything=True)}
    assert found["one look, Student's t and the median"].verdict is GateVerdict.INCONCLUSIVE
    assert (found["**the rule**"].verdict, found["**the rule**"].launches) == (GateVerdict.REGRESSION, 5)
    one_look = found["ten launches, one look"]
    assert (one_look.verdict, one_look.launches) == (GateVerdict.REGRESSION, 10)
    tally = gate_rule.Tally()
    tally.add([0.1], [found["one look, Wilcoxon"]])
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
