"""Two arms that are ready to be asked, for as long as a gate lasts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from pyharness.features.gate import arms as making
from pyharness.features.gate import suites, texts
from pyharness.features.gate.arms.environments import normalised
from pyharness.features.gate.benchmarking.own import OwnTests
from pyharness.features.gate.benchmarking.planting import plant
from pyharness.features.gate.benchmarking.starting import starting
from pyharness.features.gate.commands.request import GateRequest, suite_of
from pyharness.features.gate.driving import counting
from pyharness.features.gate.driving.process import DriverProcess
from pyharness.features.gate.measuring import Course, Listening
from pyharness.features.gate.types import ArmProcess, GateBenchmark, Side
from pyharness.store.folders import scratch
from pyharness.system.environment import cores
from pyharness.types import InputError


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
    changed: Mapping[str, str] = field(default_factory=dict)  # those that do other work there, and what differs

    @property
    def under_test(self) -> str:
        """The distribution in which the arms may differ."""
        return self.arms.base.under_test


@contextmanager
def session(asked: GateRequest, listener: Listening, deadline: float = math.inf) -> Iterator[ReadyGate]:
    """Build both arms and write the text that they will read; all of it is gone at the end."""
    if asked.tests is not None:
        with _of_tests(asked, asked.tests, listener, deadline) as ready:
            yield ready
        return
    suite = suite_of(asked)
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
        yield ReadyGate(
            suite.name, suite.digest, noted, suite.benchmarks, course, gone=suite.gone, changed=suite.changed
        )


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
