"""What is ready, measured and judged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import date

from pyharness.features.gate.arms import equality
from pyharness.features.gate.benchmarking.found import found
from pyharness.features.gate.benchmarking.own import OwnTests
from pyharness.features.gate.commands.ready import ReadyGate
from pyharness.features.gate.judging import declared, verdicts
from pyharness.features.gate.judging.self_test import self_test
from pyharness.features.gate.measuring import Measured, measure
from pyharness.features.gate.suites import earlier
from pyharness.features.gate.types import (
    SIDES,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Rounds,
    SelfTest,
    Waiver,
)


def judged(ready: ReadyGate, rules: GateRules, waivers: Sequence[Waiver] = ()) -> Gate:
    """Measure what is ready, and say what came of it."""
    today = date.today()
    allowed = declared.of_workloads(waivers, today)

    def more(rounds: Sequence[Rounds]) -> Sequence[str]:
        benchmarks = _benchmarks(ready, rounds)
        names = verdicts.escalated(rounds, benchmarks, rules, ready.under_test)
        if ready.benchmarks:
            return names
        return [one.name for one in benchmarks if one.name in names]  # tests run in the order in which they stand

    def settle(screened: Measured) -> None:
        screened.refusals = {**_refused(ready, allowed), **screened.refusals}
        if ready.own is not None:
            ready.own.settle(screened, ready.course.deadline)

    measured = measure(ready.course, more, settle)
    asked = _benchmarks(ready, measured.rounds, (*measured.refusals, *measured.unmeasured))
    known = (*asked, *found((), ready.gone, ready.under_test))
    compared = [one for one in known if one.name not in measured.new]
    judgements = verdicts.judge(compared, measured.rounds, rules, waivers, today, measured.refusals, ready.under_test)
    judgements = _with_uncounted(judgements, measured)
    tested, said = _tested(ready, measured, compared, rules)
    return Gate(
        ready.suite, rules, measured.facts, tuple(compared), tuple(measured.launches), tuple(measured.rounds),
        judgements, tested, verdicts.overall(judgements, tested),
        declared.faults(judgements, waivers, today, ready.changed),
        (*ready.arms.notes, *_other_work(ready, allowed), *_notes(measured, ready.own), *said),
        {"suite_digest": ready.digest},
    )  # fmt: skip


def _refused(ready: ReadyGate, allowed: Container[str]) -> dict[str, tuple[GateVerdict, str]]:
    """What cannot be compared, whatever is measured of it: by the suite as the base has it."""
    gone = dict.fromkeys(ready.gone, (GateVerdict.FAILED, earlier.GONE))
    changed = {name: earlier.CHANGED.format(parts) for name, parts in ready.changed.items() if name not in allowed}
    return {**gone, **{name: (GateVerdict.INCOMPARABLE, why) for name, why in changed.items()}}


def _other_work(ready: ReadyGate, allowed: Mapping[str, Waiver]) -> Iterator[str]:
    for name, parts in ready.changed.items():
        if (entry := allowed.get(name)) is not None:
            yield f"{name} does other work than the base's, declared until {entry.expires}: {parts}; {entry.reason}"


def _benchmarks(
    ready: ReadyGate, rounds: Sequence[Rounds], unmeasured: Iterable[str] = ()
) -> tuple[GateBenchmark, ...]:
    """Those of the suite, or those that were found in the arms' own tests."""
    return ready.benchmarks or found(rounds, unmeasured, ready.under_test)


def _with_uncounted(judgements: Sequence[Judgement], measured: Measured) -> tuple[Judgement, ...]:
    """Say of instructions that were asked for and not counted that they are not known: no figure is no pass."""
    names = list(dict.fromkeys(one.benchmark for one in judgements))
    more = [
        Judgement(name, "instructions", GateVerdict.INCONCLUSIVE, reason=f"not counted: {reason}")
        for name, reason in measured.uncounted.items()
    ]
    return tuple(sorted([*judgements, *more], key=lambda one: names.index(one.benchmark)))


def _tested(
    ready: ReadyGate,
    measured: Measured,
    compared: Sequence[GateBenchmark],
    rules: GateRules,
) -> tuple[SelfTest, tuple[str, ...]]:
    """Ask whether the arms differ as such: by what their processes say, and by what was measured."""
    unlike: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    if all(side in measured.facts for side in SIDES):
        libraries = {one.library for one in compared}
        differ = equality.differences(
            measured.facts["base"], measured.facts["head"], under_test=ready.under_test, measured=libraries
        )
        unlike, said = differ.faults, differ.notes
    tested = self_test(measured.launches, measured.rounds, compared, measured.facts, rules, ready.under_test, unlike)
    return tested, said


def _notes(measured: Measured, own: OwnTests | None) -> Iterator[str]:
    yield from own.notes if own is not None else ()
    yield from measured.notes
    for name, reason in measured.skipped.items():
        yield f"{name} runs on neither side: {reason}"
    for name in sorted(measured.new):
        yield f"{name} is new in the head: there is nothing to compare it with"
