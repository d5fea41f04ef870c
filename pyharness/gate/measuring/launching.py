"""One launch: two fresh processes, and a number of benchmarks in which they take turns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pyharness.gate.measuring import order
from pyharness.gate.measuring.course import Course
from pyharness.gate.measuring.turns import Differs, Gone, Overtime, Pair, Turns, failing
from pyharness.types import SIDES, Absent, ArmFacts, ArmFailed, GateVerdict, Launch, Rounds, Side


@dataclass
class Launched:
    """What one launch gave."""

    launch: Launch
    rounds: list[Rounds] = field(default_factory=list)
    refusals: dict[str, tuple[GateVerdict, str]] = field(default_factory=dict)  # by benchmark
    facts: dict[Side, ArmFacts] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)  # benchmarks that the head alone has
    skipped: dict[str, str] = field(default_factory=dict)  # tests of the arms that neither side runs, and why
    finished: bool = True  # False where time ran out


def launched(
    course: Course, number: int, head_starts: bool, names: Sequence[str] | None, calls: dict[str, int]
) -> Launched:
    """Measure ``names`` (None: all that there are) once; ``calls`` in a batch are settled by the first launch.

    A process that fails costs its benchmark; the others go on in two new processes.
    """
    starters = order.sides(head_starts)
    gave = Launched(Launch(number, starters[0]))
    course.text.begin(number)
    wanted = names
    while wanted is None or wanted:
        try:
            with _processes(course, gave, starters, wanted) as pair:
                wanted = _settled(pair, wanted, gave)
                _one_after_the_other(course, pair, wanted, gave, calls)
                return gave
        except Overtime:
            gave.finished = False
            return gave
        except Gone as gone:
            if time.monotonic() > course.deadline:  # its time was over, and it was not asked any longer
                gave.finished = False
                return gave
            if gone.benchmark is None:
                raise ArmFailed(str(gone)) from None
            wanted = wanted[wanted.index(gone.benchmark) + 1 :] if wanted else []
            gave.refusals[gone.benchmark] = (GateVerdict.FAILED, str(gone))
    return gave


@contextmanager
def _processes(
    course: Course, gave: Launched, starters: Sequence[Side], wanted: Sequence[str] | None
) -> Iterator[Pair]:
    pair: Pair = {}
    try:
        for side in starters:
            with failing(side, None):
                pair[side] = course.start(side, gave.launch.number, wanted)
                gave.facts[side] = pair[side].facts()
        yield pair
    finally:
        for process in pair.values():
            with suppress(ArmFailed):
                process.close()


def _settled(pair: Pair, wanted: Sequence[str] | None, gave: Launched) -> list[str]:
    """Names to measure, in the base's order, after those that one side lacks were refused."""
    has: dict[Side, tuple[str, ...]] = {}
    for side in SIDES:
        with failing(side, None):
            has[side] = pair[side].benchmarks()
    gave.new |= set(has["head"]) - set(has["base"])
    for name in has["base"]:
        if name not in has["head"] and (wanted is None or name in wanted):
            gave.refusals[name] = (GateVerdict.FAILED, "the base has it and the head has not: gone or renamed")
    common = [name for name in has["base"] if name in has["head"]]
    return common if wanted is None else [name for name in wanted if name in common]


def _one_after_the_other(
    course: Course, pair: Pair, wanted: Sequence[str], gave: Launched, calls: dict[str, int]
) -> None:
    for index, name in enumerate(wanted):
        course.listener.measuring(gave.launch.number, name, index, len(wanted))
        if time.monotonic() > course.deadline:
            raise Overtime
        try:
            if not _prepared(course, pair, name, gave):
                continue
            gave.rounds.append(Turns(course, pair, name, gave.launch.number, calls).measured())
        except Differs as difference:
            gave.refusals[name] = (GateVerdict.INCOMPARABLE, str(difference))


def _prepared(course: Course, pair: Pair, name: str, gave: Launched) -> bool:
    absent: dict[Side, str] = {}
    for side in SIDES:
        try:
            with failing(side, name):
                pair[side].prepare(name)
        except Absent as reason:
            absent[side] = str(reason)
    if "base" in absent and "head" not in absent:
        gave.new.add(name)
    elif len(absent) == len(SIDES) and name not in course.benchmarks:
        gave.skipped[name] = absent["head"]
    elif absent:
        lacking = "; ".join(f"{side}: {reason}" for side, reason in absent.items())
        gave.refusals[name] = (GateVerdict.FAILED, f"it cannot be measured: {lacking}")
    for side in pair.keys() - absent.keys():
        if absent:
            with failing(side, name):
                pair[side].finish(name)
    return not absent
