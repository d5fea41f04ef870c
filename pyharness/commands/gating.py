"""What ``pyharness gate`` does: two arms, launches, verdicts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from pyharness.gate import arms as making
from pyharness.gate import calibrating, earlier_suite, suites, texts
from pyharness.gate.arms import equality, lock, sources, variables
from pyharness.gate.arms.environments import normalised
from pyharness.gate.benchmarking.found import found
from pyharness.gate.benchmarking.own import OwnTests
from pyharness.gate.benchmarking.planting import plant
from pyharness.gate.benchmarking.starting import starting
from pyharness.gate.driving import counting
from pyharness.gate.driving.process import DriverProcess
from pyharness.gate.judging import declared, verdicts
from pyharness.gate.judging.self_test import self_test
from pyharness.gate.measuring import Course, Listening, Measured, measure
from pyharness.store.folders.scratch import scratch
from pyharness.system import program
from pyharness.system.environment import cores, fingerprint
from pyharness.types import (
    SIDES,
    ArmFailed,
    ArmProcess,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    InputError,
    Judgement,
    Rounds,
    SelfTest,
    Side,
    Waiver,
)

DECLARED = Path("gate.toml")
TWO_TOKENIZERS = "tokenizers"  # suite of two rows of this environment


@dataclass(frozen=True)
class GateRequest:
    """What somebody wants to know."""

    base: str
    head: str
    suite: str | None = None  # name or file; None: what fits the arms
    tests: str | None = None  # path of tests for pytest-benchmark, instead of a suite
    rules: GateRules = field(default_factory=GateRules)
    library: str | None = None  # distribution under test; None: that of the wheels, or what two environments differ in
    declared: Path | None = None  # None: gate.toml, if there is one
    instructions: bool = False
    isolated: bool = True
    cache: bool = True
    separate: bool = False  # two builds, although both sides are one revision
    force: bool = False
    folder: Path = Path()
    requirements: tuple[str, ...] = ()  # what tests need besides pytest
    passed: tuple[str, ...] = ()  # names of further variables that builds get


@dataclass
class ReadyGate:
    """Two arms that are ready, and what they will be asked."""

    suite: str
    digest: str
    arms: making.Arms
    benchmarks: tuple[GateBenchmark, ...]
    course: Course
    own: OwnTests | None = None  # the base's own tests, where those that run are the head's
    gone: tuple[str, ...] = ()  # benchmarks that the base's suite has alone

    @property
    def under_test(self) -> str:
        """The distribution in which the arms may differ."""
        return self.arms.base.under_test


def gate(asked: GateRequest, listener: Listening) -> Gate:
    """Measure and judge. What cannot be compared is a verdict as well, with its reason.

    Raises:
        InputError: for anything that is asked wrongly, before anything is built. What is found later is a verdict.
    """
    begun, minutes = time.time(), asked.rules.minutes
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    shared: tuple[str, ...] = ()
    try:
        with program.until(deadline):  # git is asked from the first check on
            waivers = _checked(asked)
            with lock.alone(force=asked.force) as shared:
                done = _compared(asked, listener, deadline, waivers)
    except program.OutOfTime as ended:
        limit = f"--max-minutes {minutes:g}: " if time.monotonic() >= deadline else ""
        done = _incomparable(asked, f"{limit}{ended}")
    created = datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds")
    about = {**done.about, "environment": fingerprint(), "created": created, "seconds": time.time() - begun}
    let_through = f"builds of both sides got {', '.join(asked.passed)} as well, which the code that is built can read"
    return replace(done, notes=(*shared, *([let_through] if asked.passed else ()), *done.notes), about=about)


def _compared(asked: GateRequest, listener: Listening, deadline: float, waivers: Sequence[Waiver]) -> Gate:
    try:
        with session(asked, listener, deadline) as ready:
            return judged(ready, asked.rules, waivers)
    except (making.NotBuilt, ArmFailed, InputError) as failure:
        return _incomparable(asked, str(failure))
    except OSError as refusal:  # a full disk, mostly
        if isinstance(refusal, BrokenPipeError):  # nobody reads on
            raise
        return _incomparable(asked, f"the system refuses: {refusal}")


def _checked(asked: GateRequest) -> tuple[Waiver, ...]:
    """Refuse what is asked wrongly; returns what is declared."""
    if asked.instructions:
        counting.valgrind()
    if asked.tests is not None and (asked.suite is not None or asked.instructions):
        other = "--suite" if asked.suite is not None else "--counter instructions"
        raise InputError(f"--pytest {asked.tests!r} and {other} do not go together: leave one out")
    variables.further(asked.passed, os.environ)
    waivers = _declared(asked)
    sources.find(asked.base, asked.head, asked.folder)
    _check_budget(asked)
    return waivers


def _declared(asked: GateRequest) -> tuple[Waiver, ...]:
    path = asked.declared or asked.folder / DECLARED
    return declared.read(path) if asked.declared is not None or path.exists() else ()


def _check_budget(asked: GateRequest) -> None:
    """Refuse what this machine was found to be too noisy for."""
    if asked.tests is None:
        suite = _suite(asked)
        if (known := calibrating.kept(calibrating.machine(), suite.digest)) is not None:
            calibrating.check_budget(known, asked.rules.budget, suite.benchmarks)


def _about(suite: suites.GateSuite, both: making.Arms) -> suites.GateSuite:
    """Fill in what is under test where a suite does not say what a benchmark measures.

    Raises:
        InputError: nothing in it measures what is under test.
    """
    under_test = both.base.under_test
    benchmarks = tuple(replace(one, library=one.library or under_test) for one in suite.benchmarks)
    libraries = {one.library for one in benchmarks}
    if under_test and normalised(under_test) not in map(normalised, libraries):
        raise InputError(
            f"suite {suite.name!r} measures {', '.join(sorted(libraries))}, and {under_test} is under test: name "
            "another suite with --suite, or tests with --pytest"
        )
    return replace(suite, benchmarks=benchmarks)


def _suite(asked: GateRequest) -> suites.GateSuite:
    """Return the suite that is asked for, or that of what is to be compared."""
    found = sources.find(asked.base, asked.head, asked.folder)
    usual = TWO_TOKENIZERS if isinstance(found[0], sources.Specified) else suites.DEFAULT
    path = suites.find(asked.suite or usual)
    return earlier_suite.against(suites.read(path), path, found, asked.rules.budget)


@contextmanager
def session(asked: GateRequest, listener: Listening, deadline: float = math.inf) -> Iterator[ReadyGate]:
    """Build both arms and write the text that they will read; all of it is gone at the end."""
    if asked.tests is not None:
        with _of_tests(asked, asked.tests, listener, deadline) as ready:
            yield ready
        return
    suite = _suite(asked)
    with scratch() as room, _arms(asked, listener, max(one.threads for one in suite.benchmarks)) as both:
        suite = _about(suite, both)
        text = texts.written(suite.corpora, room)

        sides = {"base": both.base, "head": both.head}
        by_name = {one.name: one for one in suite.benchmarks}

        def start(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
            del launch, wanted  # a process prepares a benchmark when it is asked to
            return DriverProcess(sides[side], suite, text.paths, deadline=deadline)

        def start_counting(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
            del launch, wanted
            return counting.CountingProcess(sides[side], suite, text.paths, room, deadline=deadline)

        count = start_counting if asked.instructions else None
        course = Course(start, text, asked.rules, by_name, listener, deadline, counting=count)
        noted = replace(both, notes=(*both.notes, *suite.notes))
        yield ReadyGate(suite.name, suite.digest, noted, suite.benchmarks, course, gone=suite.gone)


@contextmanager
def _of_tests(asked: GateRequest, tests: str, listener: Listening, deadline: float) -> Iterator[ReadyGate]:
    """Build both arms, and put the head's tests into both; benchmarks are what is found there."""
    requirements = ("pytest", *asked.requirements)
    with scratch() as room, _arms(asked, listener, cores(), requirements) as both:
        if both.base.tokenizer is not None:
            raise InputError(f"--pytest {tests!r} needs two builds of a library: revisions, wheels or environments")
        planted = plant(both, tests, asked.folder, room)
        start, own = starting(both, planted, deadline)
        course = Course(start, texts.written({}, room), asked.rules, {}, listener, deadline)
        yield ReadyGate(tests, "", both, (), course, own)


def _arms(
    asked: GateRequest, listener: Listening, threads: int, requirements: Sequence[str] = ()
) -> AbstractContextManager[making.Arms]:
    return making.arms(
        asked.base, asked.head, folder=asked.folder, listener=listener.stage, library=asked.library, threads=threads,
        requirements=requirements, isolated=asked.isolated, cache=asked.cache, separate=asked.separate,
        passed=asked.passed,
    )  # fmt: skip


def judged(ready: ReadyGate, rules: GateRules, waivers: Sequence[Waiver] = ()) -> Gate:
    """Measure what is ready, and say what came of it."""

    def more(rounds: Sequence[Rounds]) -> Sequence[str]:
        return verdicts.escalated(rounds, _benchmarks(ready, rounds), rules, ready.under_test)

    def settle(screened: Measured) -> None:
        if ready.own is not None:
            ready.own.settle(screened, ready.course.deadline)

    measured, today = measure(ready.course, more, settle), date.today()
    measured.refusals |= dict.fromkeys(ready.gone, (GateVerdict.FAILED, earlier_suite.GONE))
    asked = _benchmarks(ready, measured.rounds, (*measured.refusals, *measured.unmeasured))
    known = (*asked, *found((), ready.gone, ready.under_test))
    compared = [one for one in known if one.name not in measured.new]
    judgements = verdicts.judge(compared, measured.rounds, rules, waivers, today, measured.refusals, ready.under_test)
    judgements = _with_uncounted(judgements, measured)
    tested, said = _tested(ready, measured, compared, rules)
    return Gate(
        ready.suite, rules, measured.facts, tuple(compared), tuple(measured.launches), tuple(measured.rounds),
        judgements, tested, verdicts.overall(judgements, tested), declared.faults(judgements, waivers, today),
        (*ready.arms.notes, *_notes(measured, ready.own), *said), {"suite_digest": ready.digest},
    )  # fmt: skip


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


def _incomparable(asked: GateRequest, reason: str) -> Gate:
    what = asked.tests or asked.suite or suites.DEFAULT
    return Gate(what, asked.rules, {}, (), (), (), (), SelfTest((reason,)), GateVerdict.INCOMPARABLE)
