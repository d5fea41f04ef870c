"""What a gate asks for and does not get: each is named, with the reason, and nothing else is lost."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence

import pytest

from gating.doubles import NAMES, gate_plan
from pyharness.features.gate.measurement.series import measure
from pyharness.features.gate.types import SIDES, ArmFailed, GateRules, GateVerdict, Rounds, Side


def nobody(rounds: Sequence[Rounds]) -> list[str]:
    return []


def everybody(rounds: Sequence[Rounds]) -> list[str]:
    return list(NAMES)


def test_counting_that_fails_costs_instructions_alone() -> None:
    plan, _ = gate_plan()

    def refuse(side: Side, launch: int, wanted: Sequence[str] | None) -> object:
        raise ArmFailed("valgrind: cannot")

    plan.counting = refuse  # type: ignore[assignment]
    measured = measure(plan, nobody)
    assert len(measured.rounds) == len(NAMES)
    assert list(measured.uncounted) == list(NAMES)
    assert all(re.fullmatch("(base|head): valgrind: cannot", reason) for reason in measured.uncounted.values())


def test_a_benchmark_that_fails_under_the_counter_keeps_its_time() -> None:
    plan, _ = gate_plan()
    plan.counting = gate_plan(dies_in={"head": "decode"}, counts={"base": 1000, "head": 1000})[0].start
    measured = measure(plan, nobody)
    assert not measured.refusals
    ((name, reason),) = measured.uncounted.items()
    assert name == "decode"
    assert re.match(r"head: .*\bsignal 9$", reason)
    assert {part.benchmark: len(part.instructions) for part in measured.rounds} == {
        "encode": 2,
        "decode": 0,
        "split": 2,
    }


def test_a_counter_that_says_nothing_of_a_side_has_not_counted() -> None:
    plan, _ = gate_plan()
    plan.counting = gate_plan(counts={"base": 1000})[0].start
    uncounted = measure(plan, nobody).uncounted
    assert [*uncounted] == [*NAMES]
    assert all("counter" in reason for reason in uncounted.values())


def test_other_ids_under_the_counter_are_incomparable_all_the_same() -> None:
    plan, _ = gate_plan()
    plan.counting = gate_plan(other_ids={"head": "split"}, counts={"base": 1000, "head": 1000})[0].start
    measured = measure(plan, nobody)
    assert measured.refusals["split"][0] is GateVerdict.INCOMPARABLE
    assert not measured.uncounted


@pytest.mark.parametrize("sides", [("base",), ("head",), SIDES])
@pytest.mark.parametrize("fault", ["absent", "has"])
@pytest.mark.parametrize("declared", [True, False])
def test_what_was_measured_and_is_lacking_later_has_failed(sides: Sequence[Side], fault: str, declared: bool) -> None:
    plan, _ = gate_plan(rules=GateRules(launches=3))
    plan.benchmarks = plan.benchmarks if declared else {}
    start = plan.start

    def later(side: Side, launch: int, wanted: Sequence[str] | None) -> object:
        arm = start(side, launch, wanted)
        if launch == 2 and side in sides:
            setattr(arm, fault, {"split": "no such module"} if fault == "absent" else ("encode", "decode"))
        return arm

    plan.start = later  # type: ignore[assignment]
    measured = measure(plan, everybody)
    verdict, reason = measured.refusals["split"]
    assert verdict is GateVerdict.FAILED
    assert re.search(r"\b(before|earlier)\b", reason)
    assert all(side in reason for side in sides)
    assert not measured.new
    assert not measured.notes


def test_tests_that_nobody_has_declared_and_that_time_did_not_come_to() -> None:
    has: dict[Side, object] = {"base": (*NAMES, "old", "last"), "head": ("novel", *NAMES, "last")}
    plan, _ = gate_plan(has=has, absent={side: {"decode": "skipped"} for side in SIDES})
    plan.benchmarks = {}

    class Late(type(plan.listener)):  # type: ignore[misc]
        def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
            plan.deadline = time.monotonic() - 1 if benchmark == "split" else math.inf

    plan.listener = Late()
    measured = measure(plan, nobody)
    assert [part.benchmark for part in measured.rounds] == ["encode"]
    assert measured.unmeasured == ["split", "last"]  # neither skipped, gone, nor new
