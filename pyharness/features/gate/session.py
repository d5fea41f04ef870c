"""From a request to a gate: resolve names once, build both arms, measure, and judge."""

from __future__ import annotations

import math
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from pyharness.features.gate import calibration, suites, texts
from pyharness.features.gate.builds import names, variables
from pyharness.features.gate.builds.arms import Arms, prepare
from pyharness.features.gate.builds.workshop import BuildOptions
from pyharness.features.gate.drivers import project_tests
from pyharness.features.gate.drivers.processes import CountingProcess, DriverProcess, valgrind
from pyharness.features.gate.drivers.project_tests import FOLDER, check_there, plant
from pyharness.features.gate.drivers.pytest_process import OwnTests, benchmarks_of_tests, starting
from pyharness.features.gate.measurement.plan import GateListener, GatePlan
from pyharness.features.gate.measurement.series import Measured, measure
from pyharness.features.gate.types import (
    GONE,
    SIDES,
    ArmProcess,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Rounds,
    Side,
    Waiver,
)
from pyharness.features.gate.verdicts import judgements, waivers
from pyharness.features.gate.verdicts.self_test import Differences, differences, self_test
from pyharness.plugins.registry import suggest
from pyharness.system.environment import cores
from pyharness.system.folders import scratch
from pyharness.types import InputError

TWO_TOKENIZERS = "tokenizers"  # suite of two rows of this environment


@dataclass(frozen=True)
class GateRequest:
    """A user's request for a gate."""

    base: str
    head: str
    suite: str | None = None  # name or file; None: the suite that fits the arms
    tests: str | None = None  # path of tests for pytest-benchmark, instead of a suite
    rules: GateRules = field(default_factory=GateRules)
    declared: Path | None = None  # None: gate.toml, if it exists
    instructions: bool = False
    force: bool = False
    folder: Path = Path()
    build: BuildOptions = field(default_factory=BuildOptions)
    only: tuple[str, ...] = ()  # benchmarks of the suite, and its controls; (): all
    expected: tuple[str, ...] = ()  # tests: the gate ends after its first launch if this shows none of them


@dataclass(frozen=True)
class ResolvedRequest:
    """A request with all its names resolved once, so that they stay the same throughout."""

    asked: GateRequest
    sources: names.Pair
    suite: suites.GateSuite | None  # None: the gate runs tests
    declared: tuple[Waiver, ...] = ()


def checked(asked: GateRequest) -> ResolvedRequest:
    """Resolve a request.

    Raises:
        InputError: the request is invalid, or a budget is below this machine's detectable slowdown; ``NotFetched``
            where a clone may lack a commit.
        OutOfTime: git takes too long (``program.until``).
    """
    if asked.instructions:
        valgrind()
    if asked.tests is not None and (asked.suite is not None or asked.instructions):
        other = "--suite" if asked.suite is not None else "--counter instructions"
        raise InputError(f"--pytest {asked.tests!r} and {other} do not go together: leave one out")
    if asked.tests is not None and asked.only:
        raise InputError(f"--only names benchmarks of a suite: name a test as in --pytest {asked.tests}::test_name")
    variables.further(asked.build.passed, os.environ)
    path = asked.declared or asked.folder / waivers.FILE
    if asked.declared is not None and not path.exists():
        raise names.absent("--declared", str(path), path, "write an [[accepted]] entry for each change that you allow")
    declared = waivers.read(path) if path.exists() else ()
    request = resolved(asked)
    names.check_different(request.sources)
    suite, library = request.suite, asked.build.library or names.distribution(request.sources[1])
    if suite is None:
        check_there(request.sources, str(asked.tests), asked.folder)
    else:
        suites.only(suites.of_library(suite, library), asked.only, library)
        if (kept := calibration.kept(calibration.machine(), suite.digest)) is not None:
            calibration.check_budget(kept, asked.rules.budget, suite.benchmarks)
    return replace(request, declared=declared)


def resolved(asked: GateRequest) -> ResolvedRequest:
    """Resolve both sides, and read the requested suite, or the default for such sides; no suite if tests run."""
    sources = names.find(asked.base, asked.head, asked.folder)
    if asked.tests is not None:
        return ResolvedRequest(asked, sources, None)
    usual = TWO_TOKENIZERS if isinstance(sources[0], names.Specified) else suites.DEFAULT
    path = suites.find(asked.suite or usual)
    return ResolvedRequest(asked, sources, suites.against(suites.read(path), path, sources, asked.rules.budget))


@dataclass
class ReadyGate:
    """Two arms that are ready, and the plan of their measurement."""

    suite: suites.GateSuite  # without benchmarks where the gate runs tests: these name them later
    arms: Arms
    plan: GatePlan
    tests: Path | None = None  # the tree of the head's tests, where it runs tests
    own: OwnTests | None = None  # the base's own tests, where the head's tests run
    expected: tuple[str, ...] = ()  # as requested

    @property
    def under_test(self) -> str:
        """The distribution under test; "" for two tokenizers."""
        return self.arms.base.under_test

    def definitions(self, names: Iterable[str]) -> dict[str, str]:
        """Return a digest of what each benchmark does, as far as it is known."""
        return suites.definitions(self.suite) if self.tests is None else project_tests.definitions(self.tests, names)

    def benchmarks(self, rounds: Sequence[Rounds], unmeasured: Iterable[str] = ()) -> tuple[GateBenchmark, ...]:
        """Return the benchmarks of the suite, or those of tests: of ``rounds``, then ``unmeasured``."""
        return self.suite.benchmarks or benchmarks_of_tests(rounds, unmeasured, self.under_test)


@contextmanager
def ready(request: ResolvedRequest, listener: GateListener, deadline: float = math.inf) -> Iterator[ReadyGate]:
    """Make both arms and write their text; remove all of it at the end.

    Raises:
        InputError: the arms cannot be made, or their text or tests cannot be read.
        NotBuilt: a side does not build or install.
        OutOfTime: it takes too long (``program.until``).
    """
    asked, suite = request.asked, request.suite
    threads = cores() if suite is None else max(one.threads for one in suite.benchmarks)
    options = asked.build
    if suite is None:
        options = replace(options, requirements=("pytest", *options.requirements))
    with scratch() as room, prepare(request.sources, options, threads=threads, listener=listener.stage) as both:
        if suite is None:
            yield _of_tests(request, both, room, listener, deadline)
        else:
            yield _of_suite(asked, suite, both, room, listener, deadline)


def _of_suite(
    asked: GateRequest, suite: suites.GateSuite, both: Arms, room: Path, listener: GateListener, deadline: float
) -> ReadyGate:
    suite = suites.only(suites.of_library(suite, both.base.under_test), asked.only, both.base.under_test)
    text = texts.written(suite.corpora, room)
    sides = {"base": both.base, "head": both.head}

    def start(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
        del launch, wanted  # a process prepares a benchmark on request
        return DriverProcess(sides[side], suite, text.paths, deadline=deadline)

    def start_counting(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
        del launch, wanted
        return CountingProcess(sides[side], suite, text.paths, room, deadline=deadline)

    by_name = {one.name: one for one in suite.benchmarks}
    counting = start_counting if asked.instructions else None
    plan = GatePlan(start, text, asked.rules, by_name, listener, deadline, counting=counting)
    return ReadyGate(suite, replace(both, notes=(*both.notes, *suite.notes)), plan)


def _of_tests(request: ResolvedRequest, both: Arms, room: Path, listener: GateListener, deadline: float) -> ReadyGate:
    """Plant the head's tests in both arms."""
    asked, tests = request.asked, str(request.asked.tests)
    start, own = starting(both, plant(both, request.sources, tests, asked.folder, room), deadline)
    plan = GatePlan(start, texts.written({}, room), asked.rules, {}, listener, deadline)
    suite, tree = suites.GateSuite(tests, "", (), {}, Path(), ""), both.head.folder / FOLDER
    return ReadyGate(suite, both, plan, tree, own, asked.expected)


def judged(gate: ReadyGate, rules: GateRules, declared: Sequence[Waiver] = ()) -> Gate:
    """Measure two ready arms, and judge them.

    Raises:
        ArmFailed: an arm does not start, or fails in the screen before its first benchmark.
        InputError: the screen shows no test that is expected.
    """
    today, suite, under_test = date.today(), gate.suite, gate.under_test
    allowed = waivers.of_workloads(declared, today)

    def more(rounds: Sequence[Rounds]) -> Sequence[str]:
        benchmarks = gate.benchmarks(rounds)
        wanted = judgements.escalated(rounds, benchmarks, rules, under_test)
        if suite.benchmarks:
            return wanted
        return [one.name for one in benchmarks if one.name in wanted]  # tests run in their own order

    def settle(screened: Measured) -> None:
        names = {one.benchmark for one in screened.rounds}.union(
            screened.refusals, screened.new, screened.skipped, screened.unmeasured
        )
        if gate.expected and names.isdisjoint(gate.expected):
            raise suggest("test", gate.expected[0], names)
        screened.refusals = {**_refusals(suite, allowed), **screened.refusals}
        if gate.own is not None:
            gate.own.settle(screened, gate.plan.deadline)

    measured = measure(gate.plan, more, settle)
    asked = gate.benchmarks(measured.rounds, (*measured.refusals, *measured.unmeasured))
    everything = (*asked, *benchmarks_of_tests((), suite.gone, under_test))
    compared = [one for one in everything if one.name not in measured.new]
    figures = judgements.judge(compared, measured.rounds, rules, declared, today, measured.refusals, under_test)
    figures = _with_uncounted(figures, measured)
    unlike = _unlike(measured, compared, under_test)
    tested = self_test(measured.launches, measured.rounds, compared, measured.facts, rules, under_test, unlike.faults)
    return Gate(
        suite.name, rules, measured.facts, tuple(compared), tuple(measured.launches), tuple(measured.rounds),
        figures, tested, judgements.overall(figures, tested), waivers.faults(figures, declared, today, suite.changed),
        (*gate.arms.notes, *_other_work(suite, allowed), *_notes(measured, gate.own), *unlike.notes),
        {"suite_digest": suite.digest, "definitions": gate.definitions(one.name for one in compared)},
    )  # fmt: skip


def _refusals(suite: suites.GateSuite, allowed: Container[str]) -> dict[str, tuple[GateVerdict, str]]:
    """Return refusals that no measurement changes: benchmarks only in the base's suite, or undeclared other work."""
    gone = dict.fromkeys(suite.gone, (GateVerdict.FAILED, GONE))
    changed = {name: suites.CHANGED.format(parts) for name, parts in suite.changed.items() if name not in allowed}
    return {**gone, **{name: (GateVerdict.INCOMPARABLE, why) for name, why in changed.items()}}


def _other_work(suite: suites.GateSuite, allowed: Mapping[str, Waiver]) -> Iterator[str]:
    for name, parts in suite.changed.items():
        if (entry := allowed.get(name)) is not None:
            yield f"{name} does other work than in the base, declared until {entry.expires}: {parts}; {entry.reason}"


def _with_uncounted(judged: Sequence[Judgement], measured: Measured) -> tuple[Judgement, ...]:
    """Add an inconclusive judgement for each benchmark whose instructions could not be counted."""
    order = list(dict.fromkeys(one.benchmark for one in judged))
    more = [
        Judgement(name, "instructions", GateVerdict.INCONCLUSIVE, reason=f"not counted: {reason}")
        for name, reason in measured.uncounted.items()
    ]
    return tuple(sorted([*judged, *more], key=lambda one: order.index(one.benchmark)))


def _unlike(measured: Measured, compared: Sequence[GateBenchmark], under_test: str) -> Differences:
    """Compare the facts of both arms' processes; no differences where a side gave none."""
    if any(side not in measured.facts for side in SIDES):
        return Differences((), ())
    libraries = {one.library for one in compared}
    return differences(measured.facts["base"], measured.facts["head"], under_test=under_test, measured=libraries)


def _notes(measured: Measured, own: OwnTests | None) -> Iterator[str]:
    yield from own.notes if own is not None else ()
    yield from measured.notes
    for name, reason in measured.skipped.items():
        yield f"{name} runs on neither side: {reason}"
    for name in sorted(measured.new):
        yield f"{name} is new in the head: there is nothing to compare it with"
