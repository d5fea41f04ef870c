"""Planted biases are named, and what is no bias is none."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gating.launches import benchmark, launch
from pyharness.gate.judging.self_test import self_test
from pyharness.types import SIDES, ArmFacts, GateBenchmark, GateRules, Launch, Rounds, SelfTest, Side

RULES = GateRules(budget=0.02)
SUITE = [benchmark(f"native-{number}") for number in range(9)] + [
    benchmark(name, "tiktoken") for name in ("control-1", "control-2", "control-3")
]


def arms(head: str = "v2") -> dict[Side, ArmFacts]:
    return {side: ArmFacts(side, side, version, {}, {}) for side, version in zip(SIDES, ("v1", head), strict=True)}


def starts(count: int) -> list[Launch]:
    return [Launch(number, "head" if number % 2 else "base") for number in range(count)]


def measured(
    suite: list[GateBenchmark], native: float = 0.0, controls: float = 0.0, count: int = 6, order: float = 0.0
) -> list[Rounds]:
    """Launches of all benchmarks, each with noise of 0.3 % of its own."""
    generator = random.Random(4)
    return [
        launch(
            one.name,
            number,
            generator.gauss(native if one.library == "pyharness" else controls, 0.003),
            order=order,
        )
        for number in range(count)
        for one in suite
    ]


def examined(rounds: list[Rounds], suite: list[GateBenchmark] = SUITE, head: str = "v2") -> SelfTest:
    return self_test(starts(6), rounds, suite, arms(head), RULES, "pyharness")


def test_equal_arms_have_no_fault() -> None:
    found = examined(measured(SUITE))
    assert found.faults == ()
    assert found.figures["signs"]["of"] == 12


def test_a_change_of_everything_under_test_is_no_fault_of_the_arms() -> None:
    assert examined(measured(SUITE, native=1.5)).faults == ()  # as without optimisation
    assert examined(measured(SUITE[:9], native=1.5), SUITE[:9]).faults == ()


def test_controls_that_moved_are_a_fault() -> None:
    (fault,) = examined(measured(SUITE, native=0.015, controls=0.015)).faults
    assert fault.startswith("3 benchmarks of libraries that are not under test: the head is 1.")
    assert fault.endswith("in 5 launches: the arms differ as such")


def test_controls_that_moved_too_little_to_matter_are_none() -> None:
    assert examined(measured(SUITE, controls=0.006)).faults == ()


def test_one_control_that_moved_is_not_all_of_them() -> None:
    rounds = [
        launch(part.benchmark, part.launch, 0.1) if part.benchmark == "control-1" else part for part in measured(SUITE)
    ]
    assert examined(rounds).faults == ()


def test_controls_that_moved_to_both_sides_are_none() -> None:
    moved = {"control-1": 0.03, "control-2": 0.03, "control-3": -0.03}
    rounds = [
        launch(part.benchmark, part.launch, moved[part.benchmark] + part.launch / 1e4)
        for part in measured(SUITE)
        if part.benchmark in moved
    ]
    found = examined(rounds)
    assert found.figures["controls"]["p"] < 0.001
    assert found.faults == ()


def test_one_version_that_is_slower_everywhere_is_a_fault() -> None:
    suite = [benchmark(f"native-{number}") for number in range(12)]
    (fault,) = examined(measured(suite, native=0.02, count=1), suite, head="v1").faults
    assert fault.startswith("12 of 12 benchmarks of one version are slower in the head, by 2")
    (fault,) = examined(measured(suite, native=-0.02, count=1), suite, head="v1").faults
    assert fault.startswith("12 of 12 benchmarks of one version are faster in the head, by 2")
    assert examined(measured(suite, native=0.02, count=1), suite).faults == ()
    assert examined(measured(suite, count=1), suite, head="v1").faults == ()


def test_a_head_that_always_goes_second_is_named() -> None:
    rounds = [replace(part, head_first=(False,) * 20) for part in measured(SUITE, count=1)]
    (fault,) = examined(rounds).faults
    assert fault == (
        "the head went second in 240 of 240 rounds of 12 benchmarks: who is second may be slower for that alone"
    )


@pytest.mark.parametrize(("side", "other"), [("base", "head"), ("head", "base")])
def test_a_side_that_always_starts_second_is_named(side: Side, other: Side) -> None:
    launches = [Launch(number, side) for number in range(6)]
    (fault,) = self_test(launches, measured(SUITE), SUITE, arms(), RULES, "pyharness").faults
    assert fault.startswith(f"the {other} was started second in 6 of 6 launches")
    assert self_test(launches[:1], measured(SUITE, count=1), SUITE, arms(), RULES, "pyharness").faults == ()


def test_the_order_effect_is_a_figure() -> None:
    found = examined(measured(SUITE, order=0.02))
    assert found.faults == ()
    assert found.figures["second_in_a_round"]["mean"] == pytest.approx(0.0202, abs=1e-4)
    low, high = found.figures["started_first"]["interval"]
    assert low < 0 < high


def test_faults_of_the_arms_are_kept() -> None:
    found = self_test(starts(1), [], SUITE, arms(), RULES, "pyharness", ["the head has 4,096 bytes more environment"])
    assert found.faults == ("the head has 4,096 bytes more environment",)


def faults_by_chance(arm: float) -> int:
    """Of 100 gates whose launches shift everything a little, and each benchmark by 1 %: those with a fault."""
    generator, count = random.Random(6), 0
    for _ in range(100):
        together = [generator.gauss(arm, 0.003) for _ in range(11)]
        rounds = [
            launch(name, number, generator.gauss(common, 0.01), count=4)
            for number, common in enumerate(together)
            for name in ("native-0", "native-1", "control-1", "control-2", "control-3")
        ]
        count += bool(self_test(starts(11), rounds, SUITE, arms(), RULES, "pyharness").faults)
    return count


def test_faults_are_rare_where_arms_are_equal_and_certain_where_one_is_slower() -> None:
    assert faults_by_chance(0.0) == 0
    assert faults_by_chance(0.03) > 90
    assert faults_by_chance(-0.03) > 90
