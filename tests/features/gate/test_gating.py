"""What a gate says of what it was asked for and did not measure, over arms that are made up."""

from __future__ import annotations

import errno
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gating.arms import here, suite_of
from gating.doubles import NAMES, FakeArm, gate_plan
from pyharness.features.gate import commands
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.measurement.plan import GateListener, GatePlan
from pyharness.features.gate.session import GateRequest, ReadyGate, judged
from pyharness.features.gate.types import Gate, GateRules, GateVerdict, Side, TimedBatch, Timing
from pyharness.system import program
from pyharness.types import InputError

STRICT = GateRules(strict=True)


def gated(plan: GatePlan, *, declared: bool) -> Gate:
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    benchmarks = tuple(plan.benchmarks.values())
    plan.benchmarks = plan.benchmarks if declared else {}
    return judged(ReadyGate(suite_of(Path(), *(benchmarks if declared else ())), arms, plan), STRICT)


def verdicts(gate: Gate) -> dict[tuple[str, str], GateVerdict]:
    return {(one.benchmark, one.figure): one.verdict for one in gate.judgements}


def test_tests_that_time_did_not_come_to_are_inconclusive_each_by_name() -> None:
    plan, _ = gate_plan(rules=STRICT)

    class Late(type(plan.listener)):  # type: ignore[misc]
        def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
            plan.deadline = time.monotonic() - 1 if benchmark == "decode" else math.inf

    plan.listener = Late()
    gate = gated(plan, declared=False)
    found = verdicts(gate)
    assert found["encode", "time"] is GateVerdict.PASS
    assert found["decode", "time"] is found["split", "time"] is GateVerdict.INCONCLUSIVE
    assert not gate.self_test.faults
    assert (gate.verdict, gate.exit_code) == (GateVerdict.INCONCLUSIVE, 3)


@pytest.mark.parametrize(
    "failure", [InputError("it cannot be"), OSError(errno.ENOSPC, "it cannot be"), BrokenPipeError()]
)
def test_what_fails_when_a_gate_has_begun_is_a_verdict(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    @contextmanager
    def failing(*_: object, **__: object) -> Iterator[None]:
        raise failure
        yield

    monkeypatch.setattr("pyharness.features.gate.session.prepare", failing)
    asked = GateRequest("raw_bytes", "raw_bytes", force=True)
    if isinstance(failure, BrokenPipeError):  # nobody reads what it says
        with pytest.raises(BrokenPipeError):
            commands.gate(asked, GateListener())
        return
    done = commands.gate(asked, GateListener())
    assert (done.verdict, done.exit_code) == (GateVerdict.INCOMPARABLE, 2)
    assert "it cannot be" in done.self_test.faults[0]


def test_time_that_runs_out_while_what_is_asked_is_checked_is_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        program.run(["sleep", "600"], dict(os.environ))

    monkeypatch.setattr("pyharness.features.gate.builds.names.find", slow)
    done = commands.gate(GateRequest("a", "b", rules=GateRules(minutes=0.01), force=True), GateListener())
    assert (done.verdict, done.exit_code) == (GateVerdict.INCOMPARABLE, 2)
    assert done.self_test.faults[0].startswith("--max-minutes 0.01: 'sleep' was ended after ")


def test_instructions_that_were_not_counted_are_inconclusive_and_the_time_stands() -> None:
    plan, _ = gate_plan(rules=STRICT)
    plan.counting = gate_plan(dies_in={"head": "decode"}, counts={"base": 1000, "head": 1000})[0].start
    gate = gated(plan, declared=True)
    found = verdicts(gate)
    assert {found[name, "time"] for name in NAMES} == {GateVerdict.PASS}
    assert found["encode", "instructions"] is found["split", "instructions"] is GateVerdict.PASS
    assert found["decode", "instructions"] is GateVerdict.INCONCLUSIVE
    assert list(dict.fromkeys(one.benchmark for one in gate.judgements)) == list(NAMES)
    assert [one.benchmark for one in gate.judgements if re.match("not counted: head: .*signal 9$", one.reason)] == [
        "decode"
    ]
    assert not gate.self_test.faults
    assert gate.exit_code == 3


def test_a_head_that_begins_to_wait_is_slower() -> None:
    plan, _ = gate_plan(rules=STRICT)
    start = plan.start

    class Waiting(FakeArm):
        def time(self, benchmark: str, batch: object) -> TimedBatch:
            timed = super().time(benchmark, batch)  # type: ignore[arg-type]
            return TimedBatch(Timing(20 * timed.timing.wall, timed.timing.cpu), timed.digest)

    def waits(side: Side, launch: int, wanted: Sequence[str] | None) -> object:
        arm = start(side, launch, wanted)
        return Waiting(**vars(arm)) if side == "head" else arm

    plan.start = waits  # type: ignore[assignment]
    gate = gated(plan, declared=False)
    assert {found for (_, figure), found in verdicts(gate).items() if figure == "time"} == {GateVerdict.REGRESSION}
    assert gate.exit_code == 1
