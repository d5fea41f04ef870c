"""A side that hangs has failed, by its name, whoever goes first; what only looks like a hang costs nothing."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gating.arms import here, made
from gating.doubles import NAMES, FakeArm, gate_plan
from pyharness.features.gate.measurement import launches, rounds
from pyharness.features.gate.measurement.plan import GatePlan
from pyharness.features.gate.measurement.series import measure
from pyharness.features.gate.texts import Texts
from pyharness.features.gate.types import (
    LEAST_TIMEOUT,
    SIDES,
    ArmFailed,
    ArmProcess,
    ArmSilent,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Rounds,
    Side,
)

Hangs = Callable[["Told", Side], bool]


class Told:
    """A course whose arms hang in ``where`` of the benchmark "decode" when ``hangs`` says so, by a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: str, hangs: Hangs, deadline: float = math.inf) -> None:
        self.now, self.hung, self.there = 0.0, 0, set[Side]()
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.plan, self.diary = gate_plan(rules=GateRules(launches=1))
        self.plan.deadline = deadline
        self._start, self._where, self._hangs = self.plan.start, where, hangs
        self.plan.start = self.start

    def start(self, side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
        arm = self._start(side, launch, wanted)
        assert isinstance(arm, FakeArm)
        answer, close = getattr(arm, self._where), arm.close
        self.there.add(side)

        def answering(name: str, *more: object) -> object:
            self.now += 0.01
            if name == "decode" and self._hangs(self, side):
                self.hung += 1
                left = self.plan.deadline - self.now
                waited = min(300.0, arm.timeout, max(left / 2, min(left, LEAST_TIMEOUT)))
                self.now += waited + 0.001
                raise ArmSilent(f"silent for {waited:.0f} s") if waited < left else ArmFailed("time is over")
            return answer(name, *more)

        def closing() -> None:
            self.there.discard(side)
            close()

        setattr(arm, self._where, answering)
        arm.close = closing  # type: ignore[method-assign]
        return arm


def nobody(rounds: Sequence[Rounds]) -> list[str]:
    return []


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("where", ["prepare", "time", "finish"])
@pytest.mark.parametrize("deadline", [math.inf, 120.0])
def test_a_side_that_hangs_has_failed_whoever_goes_first(
    side: Side, first: bool, where: str, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rounds, launches):
        monkeypatch.setattr(module, "in_turn", lambda _: ("head", "base") if first else ("base", "head"))
    told = Told(monkeypatch, where, lambda _, asked: asked == side, deadline)
    measured = measure(told.plan, nobody)
    verdict, reason = measured.refusals["decode"]
    assert verdict is GateVerdict.FAILED
    other = "base" if side == "head" else "head"
    assert reason.startswith(f"{side}: silent for ")
    assert re.search(f"; alone .*, {side}: silent for 10 s; {other} answers$", reason)
    assert [part.benchmark for part in measured.rounds] == ["encode", "split"]
    assert not measured.unmeasured
    assert told.now < (340 if deadline == math.inf else 90)


def test_what_was_answered_before_is_waited_for_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch, "time", lambda one, side: side == "head" and one.now > 1.0)
    begun: list[float] = []

    class Late(type(told.plan.listener)):  # type: ignore[misc]
        def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
            if (launch, benchmark) == (1, "decode"):
                told.now = max(told.now, 1.0)
                begun.append(told.now)

    told.plan.listener = Late()
    told._hangs = lambda one, side: bool(begun) and side == "head"
    measured = measure(told.plan, lambda _: NAMES)
    assert measured.refusals["decode"][0] is GateVerdict.FAILED
    assert told.hung == 2
    assert told.now - begun[0] < 2 * LEAST_TIMEOUT + 5
    assert [part.benchmark for part in measured.rounds if part.launch] == ["encode", "split"]


def test_where_both_hang_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = measure(Told(monkeypatch, "time", lambda *_: True).plan, nobody)
    verdict, reason = measured.refusals["decode"]
    assert verdict is GateVerdict.FAILED
    assert "base: silent" in reason
    assert "head: silent" in reason


def test_what_was_silent_once_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a machine was suspended: the clock goes on, and nobody has hung."""
    told = Told(monkeypatch, "time", lambda one, _: not one.hung)
    measured = measure(told.plan, nobody)
    assert not measured.refusals
    assert sorted(part.benchmark for part in measured.rounds) == sorted(NAMES)
    (note,) = measured.notes
    assert note.startswith("decode, launch 0: ")
    assert note.endswith("measured again")


def test_a_side_that_hangs_beside_the_other_has_failed_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch, "time", lambda one, side: side == "head" and len(one.there) == len(SIDES))
    verdict, reason = measure(told.plan, nobody).refusals["decode"]
    assert verdict is GateVerdict.FAILED
    assert re.search(r"^head: .*\btwice\b.*; alone .*answers$", reason)


@pytest.mark.parametrize(("took", "fails"), [(0.1, True), (0.3, False)])
def test_time_that_is_over_before_it_is_asked_again(took: float, fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """SilentListener for 10 s of 20: that is a hang where the other side takes 0.1 s, and not where it takes 0.3."""
    for module in (rounds, launches):
        monkeypatch.setattr(module, "in_turn", lambda _: ("head", "base"))

    def hangs(one: Told, side: Side) -> bool:
        one.now += took if one.hung and side == "base" else 0.0
        return side == "head"

    told = Told(monkeypatch, "time", hangs, deadline=20.0)
    measured = measure(told.plan, nobody)
    assert set(measured.refusals) == ({"decode"} if fails else set())
    assert measured.unmeasured == (["split"] if fails else ["decode", "split"])


WAITING = """
import time
class Made:
    def __init__(self, call): self.call, self.digestible = call, str.encode
def sound(setting): return Made(str.upper)
def waiting(setting):
    def call(text):
        time.sleep({seconds})
        return text
    return Made(call)
def last(setting): return Made(str.upper)
"""


def test_processes_that_hang_are_ended_and_the_other_benchmarks_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyharness.features.gate.measurement.plan.LEAST_TIMEOUT", 1.0)
    for module in (rounds, launches):
        monkeypatch.setattr(module, "in_turn", lambda _: ("head", "base"))

    def start(side: Side, launch: int, wanted: object) -> ArmProcess:
        (folder := tmp_path / side).mkdir(exist_ok=True)
        source = WAITING.format(seconds=100 if side == "head" else 0.001)
        return made(folder, here(folder, side=side), source, text="x" * 4000, time_limit=3.0)

    names = ("sound", "waiting", "last")
    benchmarks = {name: GateBenchmark(name, name, "mine", bytes=4) for name in names}
    rules = GateRules(rounds=2, batch_seconds=1e-6)
    text = Texts({"english": tmp_path / "base" / "english.txt"})
    measured = measure(GatePlan(start, text, rules, benchmarks), nobody)
    verdict, reason = measured.refusals["waiting"]
    assert verdict is GateVerdict.FAILED
    alone = r"alone .*, head: no answer within [0-9.]+ s \(time\); base answers"
    assert re.fullmatch(rf"head: no answer within 3 s \(time\); {alone}", reason)
    assert [part.benchmark for part in measured.rounds] == ["sound", "last"]
