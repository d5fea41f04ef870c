"""One launch: two fresh processes that take turns in a number of benchmarks.

Where one of them gives no answer, each side is asked alone, in a fresh process, to find the one that hangs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

from pyharness.features.gate.measurement.plan import GatePlan, Gone, Overtime, Question, failing
from pyharness.features.gate.measurement.rounds import Differs, Pair, Turns, in_turn
from pyharness.features.gate.types import (
    GONE,
    SCREEN,
    SIDES,
    ArmFacts,
    ArmFailed,
    ArmLacks,
    GateVerdict,
    Launch,
    Rounds,
    Side,
)
from pyharness.types import InputError


def blamed(plan: GatePlan, launch: int, gone: Gone, question: Question, *, again: bool) -> str | None:
    """Explain the failure of a benchmark in which one side was silent; None where both sides answer alone.

    ``again``: both answered alone before, and one is silent once more.

    Raises:
        Overtime: the gate's time ran out first.
    """
    (other,) = (side for side in SIDES if side != gone.side)
    if (fault := _alone(plan, launch, other, question)) is not None:
        if time.monotonic() > plan.deadline and not fault.silent:
            raise Overtime
        return f"{gone}; {fault}, alone in a fresh process"
    if again:
        return f"{gone}, twice, while the other side runs; alone in a fresh process it answers"
    if (fault := _alone(plan, launch, gone.side, question)) is None:
        return None
    if time.monotonic() > plan.deadline and not fault.silent:  # cut off: the earlier silence has to decide
        if gone.silent < plan.timeouts.limit(question):
            raise Overtime
        return f"{gone}; {other} answers"
    return f"{gone}; alone in a fresh process, {fault}; {other} answers"


def _alone(plan: GatePlan, launch: int, side: Side, question: Question) -> Gone | None:
    """Ask one side while the other has no process; return its failure, or None where it answers."""
    name = question.benchmark
    try:
        with failing(side, question):
            process = plan.start(side, launch, [name])
        with closing(process), suppress(ArmLacks):
            with failing(side, question):
                process.benchmarks()
            with plan.timeouts.asking(side, process, Question(name, "prepare")):
                process.prepare(name)
            if question.batch is not None:
                with plan.timeouts.asking(side, process, question):
                    process.time(name, question.batch)
            with plan.timeouts.asking(side, process, Question(name, "finish")):
                process.finish(name)
    except Gone as gone:
        return gone
    return None


@dataclass
class Launched:
    """Results of one launch."""

    launch: Launch
    rounds: list[Rounds] = field(default_factory=list)
    refusals: dict[str, tuple[GateVerdict, str]] = field(default_factory=dict)  # by benchmark
    facts: dict[Side, ArmFacts] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)  # benchmarks only in the head -> the base's message about them
    skipped: dict[str, str] = field(default_factory=dict)  # tests that neither side runs -> the reason
    names: list[str] = field(default_factory=list)  # benchmarks of both sides, where no names were asked for
    notes: list[str] = field(default_factory=list)
    finished: bool = True  # False where time ran out, or ``enough`` ended the launch


def launched(
    plan: GatePlan,
    number: int,
    head_starts: bool,
    names: Sequence[str] | None,
    calls: dict[str, int],
    enough: Callable[[Sequence[Rounds]], bool] = lambda _: False,
) -> Launched:
    """Measure ``names`` (None: all) once; the first launch settles the ``calls`` of a batch.

    The launch stops as if time ran out when ``enough`` returns true for its rounds.

    A process that fails costs its benchmark; the others go on in two new processes. So does a silent process, if it is
    also silent alone, or silent again (``blamed``). A failure of new processes before their first benchmark ends the
    gate in the screen. In a later launch they are started once more; then it costs all remaining benchmarks of the
    launch.

    Raises:
        ArmFailed: in the screen, an arm fails before its first benchmark.
    """
    starters = in_turn(head_starts)
    gave = Launched(Launch(number, starters[0]))
    plan.text.begin(number)
    wanted, again = names, set[str | None]()  # benchmarks that were retried; None: the beginning
    while wanted is None or wanted:
        try:
            try:
                with _processes(plan, gave, starters, wanted) as pair:
                    wanted = _all(pair, gave) if wanted is None else _still_there(pair, wanted, gave)
                    _one_after_the_other(plan, pair, wanted, gave, calls, enough)
                    return gave
            except Gone as gone:
                wanted = _remaining(plan, gone, wanted, gave, again)
        except Overtime:
            gave.finished = False
            return gave
    return gave


def _remaining(
    plan: GatePlan, gone: Gone, wanted: Sequence[str] | None, gave: Launched, again: set[str | None]
) -> Sequence[str]:
    """Record the cost of a failure; return the benchmarks still to measure, in new processes."""
    if time.monotonic() > plan.deadline and not gone.silent:  # cut off by the deadline
        raise Overtime
    if gone.question is None or wanted is None:
        return _begun_again(gone, wanted, gave, again)
    name = gone.question.benchmark
    number, place, repeated = gave.launch.number, wanted.index(name), name in again
    again.add(name)
    why: str | None = str(gone)
    if gone.silent:
        why = blamed(plan, number, gone, gone.question, again=repeated)
    if why is None:
        gave.notes.append(f"{name}, launch {number}: {gone}; alone, each side answers, so it was measured again")
        return wanted[place:]
    gave.refusals[name] = (GateVerdict.FAILED, why)
    return wanted[place + 1 :]


def _begun_again(gone: Gone, wanted: Sequence[str] | None, gave: Launched, again: set[str | None]) -> Sequence[str]:
    if gave.launch.number == SCREEN or wanted is None:
        raise ArmFailed(str(gone)) from None
    if None not in again:
        again.add(None)
        return wanted
    why = f"launch {gave.launch.number} did not begin, twice: {gone}"
    gave.refusals |= dict.fromkeys(wanted, (GateVerdict.FAILED, why))
    return ()


@contextmanager
def _processes(
    plan: GatePlan, gave: Launched, starters: Sequence[Side], wanted: Sequence[str] | None
) -> Iterator[Pair]:
    pair: Pair = {}
    try:
        for side in starters:
            with failing(side):
                pair[side] = plan.start(side, gave.launch.number, wanted)
                gave.facts[side] = pair[side].facts()
        yield pair
    finally:
        for process in pair.values():
            with suppress(ArmFailed):
                process.close()


def _has(pair: Pair) -> dict[Side, tuple[str, ...]]:
    has: dict[Side, tuple[str, ...]] = {}
    for side in SIDES:
        with failing(side):
            has[side] = pair[side].benchmarks()
    return has


def _all(pair: Pair, gave: Launched) -> list[str]:
    """Return names on both sides, in the base's order; record those only in the head as new, others as failed."""
    has = _has(pair)
    gave.new |= dict.fromkeys((name for name in has["head"] if name not in has["base"]), "")
    for name in has["base"]:
        if name not in has["head"]:
            gave.refusals[name] = (GateVerdict.FAILED, GONE)
    gave.names = [name for name in has["base"] if name in has["head"]]
    return gave.names


def _still_there(pair: Pair, wanted: Sequence[str], gave: Launched) -> list[str]:
    """Return ``wanted`` without names that a side lacks now: earlier processes had them, so each is a failure."""
    has = _has(pair)
    for name in wanted:
        if lacking := [side for side in SIDES if name not in has[side]]:
            reason = f"{' and '.join(lacking)}: an earlier process had it, and this one does not"
            gave.refusals[name] = (GateVerdict.FAILED, reason)
    return [name for name in wanted if name not in gave.refusals]


def _one_after_the_other(
    plan: GatePlan,
    pair: Pair,
    wanted: Sequence[str],
    gave: Launched,
    calls: dict[str, int],
    enough: Callable[[Sequence[Rounds]], bool],
) -> None:
    for index, name in enumerate(wanted):
        plan.listener.measuring(gave.launch.number, name, index, len(wanted))
        if time.monotonic() > plan.deadline or enough(gave.rounds):
            raise Overtime
        try:
            if absent := _absent(plan, pair, name):
                _record_lacking(plan, name, absent, gave)
                _let_go(plan, pair, name, absent)
                continue
            turns = Turns(plan, pair, name, gave.launch.number, calls)
            gave.rounds.append(turns.measured())
            gave.notes += filter(None, [turns.said()])
        except Differs as difference:
            gave.refusals[name] = (GateVerdict.INCOMPARABLE, str(difference))
        except InputError as little:  # too little new text for it; the others may have enough
            gave.refusals[name] = (GateVerdict.INCOMPARABLE, str(little))
            _let_go(plan, pair, name, {})


def _absent(plan: GatePlan, pair: Pair, name: str) -> dict[Side, str]:
    """Prepare a benchmark on both sides; return each side's reason for lacking it."""
    absent: dict[Side, str] = {}
    for side in SIDES:
        try:
            with plan.timeouts.asking(side, pair[side], Question(name, "prepare")):
                pair[side].prepare(name)
        except ArmLacks as reason:
            absent[side] = str(reason)
    return absent


def _record_lacking(plan: GatePlan, name: str, absent: Mapping[Side, str], gave: Launched) -> None:
    """Record a lacking benchmark: in the screen new, or skipped if it is a test of neither side; otherwise failed."""
    screen = gave.launch.number == SCREEN and not plan.counted
    if screen and "head" not in absent:
        gave.new[name] = absent["base"]
    elif screen and len(absent) == len(SIDES) and name not in plan.benchmarks:
        gave.skipped[name] = absent["head"]
    else:
        lacking = "; ".join(f"{side}: {reason}" for side, reason in absent.items())
        what = "it cannot be measured" if screen else "it was measured before, and now it cannot be"
        gave.refusals[name] = (GateVerdict.FAILED, f"{what}: {lacking}")


def _let_go(plan: GatePlan, pair: Pair, name: str, absent: Mapping[Side, str]) -> None:
    for side in pair.keys() - absent.keys():
        with plan.timeouts.asking(side, pair[side], Question(name, "finish")):
            pair[side].finish(name)
