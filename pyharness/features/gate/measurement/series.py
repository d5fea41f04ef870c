"""The launches of a gate: a screen, and more for benchmarks that look changed or are too noisy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pyharness.features.gate.measurement.launches import Launched, launched
from pyharness.features.gate.measurement.plan import GatePlan, Timeouts
from pyharness.features.gate.measurement.rounds import head_first
from pyharness.features.gate.types import SCREEN, SIDES, ArmFacts, ArmFailed, GateVerdict, Launch, Rounds, Side

SCREEN_SHARE = 0.6  # of the remaining time: if something looks slower, the rest is for its launches


@dataclass
class Measured:
    """Results of all launches, in order."""

    launches: list[Launch] = field(default_factory=list)
    rounds: list[Rounds] = field(default_factory=list)
    refusals: dict[str, tuple[GateVerdict, str]] = field(default_factory=dict)
    facts: dict[Side, ArmFacts] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)  # benchmarks only in the head -> the base's message about them
    skipped: dict[str, str] = field(default_factory=dict)  # tests that neither side runs -> the reason
    unmeasured: list[str] = field(default_factory=list)  # not reached by the screen in time
    uncounted: dict[str, str] = field(default_factory=dict)  # measured benchmarks without instructions -> the reason
    notes: list[str] = field(default_factory=list)

    def take(self, gave: Launched) -> None:
        """Add a launch."""
        self.launches.append(gave.launch)
        self.rounds += gave.rounds
        self.refusals = {**gave.refusals, **self.refusals}  # the first reason stands
        self.facts = self.facts or gave.facts
        self.new |= gave.new
        self.notes += gave.notes
        self.skipped |= gave.skipped


def measure(
    plan: GatePlan,
    escalated: Callable[[Sequence[Rounds]], Sequence[str]],
    settle: Callable[[Measured], None] = lambda _: None,
) -> Measured:
    """Measure until the rules need no more launches, or the time is over.

    ``escalated`` returns, from all rounds so far, the benchmarks that need another launch, in the order of measurement.
    ``settle`` gets the screen's results before any further launch, and may refuse benchmarks that do not run.

    Raises:
        ArmFailed: in the screen, an arm fails before its first benchmark.
    """
    measured, calls = Measured(), dict[str, int]()
    starters, begun = head_first(plan.lot), time.monotonic()
    limit = begun + SCREEN_SHARE * (plan.deadline - begun)

    def enough(rounds: Sequence[Rounds]) -> bool:
        return time.monotonic() > limit and bool(escalated(rounds))

    plan.listener.stage("screen: every benchmark once")
    screen = launched(plan, SCREEN, next(starters), None, calls, enough)
    measured.take(screen)
    if not screen.finished:
        rest = "the first launch used its share of the time: the rest is for launches of what looks slower"
        over = time.monotonic() > plan.deadline
        measured.notes.append("time ran out during the first launch" if over else rest)
        seen = {rounds.benchmark for rounds in measured.rounds} | measured.refusals.keys() | measured.new.keys()
        names = screen.names or plan.benchmarks  # only the processes know the names of tests
        measured.unmeasured = [name for name in names if name not in seen | screen.skipped.keys()]
    settle(measured)

    def wanted() -> list[str]:
        return [name for name in escalated(measured.rounds) if name not in measured.refusals]

    more = wanted()
    for number in range(1, plan.rules.launches + 1):
        if not more:
            break
        if time.monotonic() > plan.deadline:
            measured.notes.append(f"time ran out after {number - 1} of {plan.rules.launches} further launches")
            break
        plan.listener.stage(f"launch {number} of up to {plan.rules.launches}: {', '.join(more)}")
        measured.take(launched(plan, number, next(starters), more, calls))
        more = wanted()
    if plan.counting is not None:
        slow = replace(plan, start=plan.counting, counted=True, timeouts=Timeouts())
        _count(slow, measured, next(starters), calls)
    return measured


def _count(plan: GatePlan, measured: Measured, head_starts: bool, calls: dict[str, int]) -> None:
    """Count instructions of batches with as many calls as the timed ones; store them in the rounds of the screen.

    A failure under the counter costs only this figure: the times stand. Differing ids count as elsewhere.
    """
    names = [part.benchmark for part in measured.rounds if part.launch == SCREEN]
    names = [name for name in names if name not in measured.refusals]
    plan.listener.stage("counting instructions")
    try:
        gave = launched(plan, SCREEN, head_starts, names, calls)
    except ArmFailed as failure:
        measured.uncounted = dict.fromkeys(names, str(failure))
        return
    counted = {part.benchmark: part.instructions for part in gave.rounds if len(part.instructions) == len(SIDES)}
    measured.rounds = [
        replace(part, instructions=counted.get(part.benchmark, {})) if part.launch == SCREEN else part
        for part in measured.rounds
    ]
    failed = {name: reason for name, (verdict, reason) in gave.refusals.items() if verdict is GateVerdict.FAILED}
    measured.refusals |= {name: why for name, why in gave.refusals.items() if name not in failed}
    otherwise = "the time ran out" if not gave.finished else "the counter gave no value"
    missing = [name for name in names if name not in counted and name not in measured.refusals]
    measured.uncounted = {name: failed.get(name, otherwise) for name in missing}
