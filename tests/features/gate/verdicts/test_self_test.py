"""Planted biases are named, and what is no bias is none."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest

from gating.launches import benchmark, launch
from pyharness.features.gate.types import (
    SIDES,
    ArmFacts,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Launch,
    Rounds,
    SelfTest,
    Side,
)
from pyharness.features.gate.verdicts.hypotheses import sign_test
from pyharness.features.gate.verdicts.judgements import judge
from pyharness.features.gate.verdicts.self_test import FEWEST_SIGNS, LEVEL_OF_SIGNS, self_test

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
    assert re.match(r"3 benchmarks .*not under test: .* 1\.\d.* in 5 launches: ", fault)


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
    assert re.match(r"12 of 12 benchmarks .*one version .*slower .*head, by 2", fault)
    (fault,) = examined(measured(suite, native=-0.02, count=1), suite, head="v1").faults
    assert re.match(r"12 of 12 benchmarks .*one version .*faster .*head, by 2", fault)
    assert examined(measured(suite, native=0.02, count=1), suite).faults == ()
    assert examined(measured(suite, count=1), suite, head="v1").faults == ()


def test_one_version_has_its_controls_and_all_else_for_witnesses() -> None:
    (fault,) = examined(measured(SUITE, native=0.02, controls=0.02, count=1), head="v1").faults
    assert re.match(r"12 of 12 benchmarks .*one version .*slower .*head, by \d", fault)


def test_the_number_of_a_distribution_does_not_say_that_its_code_is_the_same() -> None:
    numbered = {side: replace(facts, libraries={"PyHarness": "v1"}) for side, facts in arms("v1").items()}
    suite = [benchmark(f"native-{number}") for number in range(12)]
    rounds = measured(suite, native=1.5, count=1)
    assert self_test(starts(1), rounds, suite, numbered, RULES, "pyharness").faults == ()
    one_place = {side: replace(facts, source=".venv") for side, facts in numbered.items()}
    assert len(self_test(starts(1), rounds, suite, one_place, RULES, "pyharness").faults) == 1


def test_too_few_witnesses_for_signs_are_said() -> None:
    assert sign_test(FEWEST_SIGNS, FEWEST_SIGNS) < LEVEL_OF_SIGNS <= sign_test(FEWEST_SIGNS - 1, FEWEST_SIGNS - 1)
    assert examined(measured(SUITE)).figures["witnesses"]["needs"] == 11  # three controls
    assert "needs" not in examined(measured(SUITE), head="v1").figures["witnesses"]


@pytest.mark.parametrize("count", [2, 12])
def test_of_two_tokenizers_all_is_under_test(count: int) -> None:
    suite = [benchmark(f"native-{number}") for number in range(count)]
    rounds = [launch(one.name, number, math.log(1.3) + number / 1e4) for number in range(6) for one in suite]
    rules = GateRules(budget=0.02, launches=5)
    found = self_test(starts(6), rounds, suite, arms("v1"), rules, "")
    assert found.faults == ()
    assert found.figures["controls"] is None
    assert {one.verdict for one in judge(suite, rounds, rules)} == {GateVerdict.REGRESSION}


def test_names_of_distributions_are_compared_as_pip_does() -> None:
    suite = [benchmark(f"own-{number}", "Py_Harness.Core") for number in range(3)]
    rounds = [launch(one.name, number, 0.3 + number / 1e4) for number in range(6) for one in suite]
    assert self_test(starts(6), rounds, suite, arms(), RULES, "py-harness-core").faults == ()


def test_controls_alone_are_no_comparison() -> None:
    controls = [one for one in SUITE if one.library == "tiktoken"]
    (fault,) = examined(measured(controls), controls).faults
    assert fault.startswith("all benchmarks")


def test_a_head_that_always_goes_second_is_named() -> None:
    rounds = [replace(part, head_first=(False,) * 20) for part in measured(SUITE, count=1)]
    (fault,) = examined(rounds).faults
    assert fault.startswith("the head went second in 240 of 240 rounds of 12 benchmarks")


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
