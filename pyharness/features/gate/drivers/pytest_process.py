"""An arm whose benchmarks are a project's own tests, from its parent's side; and the base's own tests.

Both arms time the head's tests, which cannot show a test that the head deleted, renamed, or no longer runs. Missing
evidence must not pass: the base's own tests are collected in its arm, and those that the head does not run are tried
there. They are not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.features.gate.builds.arms import Arm, Arms
from pyharness.features.gate.drivers.processes import AskedArm
from pyharness.features.gate.drivers.project_tests import FOLDER, PlantedTests
from pyharness.features.gate.measurement.plan import Start
from pyharness.features.gate.measurement.series import Measured
from pyharness.features.gate.suites import DRIVER
from pyharness.features.gate.types import (
    ArmFailed,
    ArmLacks,
    ArmProcess,
    CallBatch,
    Figure,
    GateBenchmark,
    GateVerdict,
    Rounds,
    Side,
    TimedBatch,
)
from pyharness.statistics.samples import median

PLUGIN = Path(__file__).with_name("pytest_plugin.py")
SCRATCH = "temporary"  # pytest's temporary folder, next to the tests


class PytestProcess(AskedArm):
    """One arm in one launch: pytest, in which the test of a benchmark waits for what it is asked.

    Args:
        arm: the arm to start.
        path: the tests to run, relative to the tree of the tests: a folder, a file, or a node id of pytest.
        wanted: names of the wanted benchmarks; None: all.
        modules: modules under test, which must not come from that tree.
        own: the base's own tests that use the fixture; they may differ from those in the tree.
        tree: tree of the tests; None: the planted one in the arm's folder.
        limits: ``time_limit``, ``deadline`` and ``memory_limit`` of ``AskedArm``.

    Raises:
        ArmFailed: it does not start.
    """

    def __init__(
        self,
        arm: Arm,
        path: str,
        *,
        wanted: Sequence[str] | None = None,
        modules: Sequence[str] = (),
        own: Sequence[str] = (),
        tree: Path | None = None,
        **limits: Any,
    ) -> None:
        self._tests = tree or arm.folder / FOLDER
        super().__init__(arm, [str(PLUGIN), str(DRIVER)], folder=self._tests, **limits)
        self._path, self._wanted, self._modules, self._own = path, wanted, tuple(modules), tuple(own)
        self._names: tuple[str, ...] = ()
        self.broken: dict[str, str] = {}  # files that cannot be collected, and why

    def benchmarks(self) -> tuple[str, ...]:
        """Return node ids of the tests that use the fixture, in pytest's order; in the base, then its own others.

        A file that fails to import is a failure in the head, whose tests these are. In the base its tests are new.
        """
        file, _, test = self._path.partition("::")
        if (self._tests / file).exists() or not self._own:
            self._names = self._collect(file, test)
        if self.arm.side == "head":
            return self._names
        wanted = self._own if self._wanted is None else [name for name in self._own if name in self._wanted]
        return (*self._names, *(name for name in wanted if name not in self._names))

    def _collect(self, file: str, test: str) -> tuple[str, ...]:
        scratch = self._tests.with_name(SCRATCH)
        answer = self.ask(
            "collect",
            arguments=[f"--basetemp={scratch}", file],
            test=test,
            names=None if self._wanted is None else [*self._wanted],
            modules=self._modules,
        )
        names, self.broken, skipped, origins = (
            self.shaped(answer, name, kind)
            for name, kind in (("collected", list), ("broken", dict), ("skipped", dict), ("origins", dict))
        )
        if self.broken and self.arm.side == "head":
            raise self.failed("; ".join(f"{file} cannot be collected: {why}" for file, why in self.broken.items()))
        for module, origin in origins.items():
            if origin is not None and Path(origin).resolve().is_relative_to(self._tests.resolve()):
                raise self.failed(f"the tests import {module} from their own tree and not what is installed: {origin}")
        if not names and self._wanted is None and not self._own:
            raise self.failed(self._nothing(answer, {**self.broken, **skipped}))
        return tuple(map(str, names))

    def _nothing(self, answer: Mapping[str, object], reasons: Mapping[str, str]) -> str:
        why = "".join(f"; {file}: {reason}" for file, reason in reasons.items())
        return f"none of the {answer.get('tests')} tests in {self._path} uses the benchmark fixture{why}"

    def prepare(self, benchmark: str) -> None:
        """Run a test until it calls its fixture; raise ``ArmLacks`` where it is skipped or does not call it."""
        if benchmark in self._own and benchmark not in self._names:
            broken = next((why for file, why in self.broken.items() if benchmark.startswith(file)), "no such test")
            raise ArmLacks(f"the head's test cannot be collected with the base's code: {broken}")
        if (lacking := self.ask("prepare", name=benchmark).get("absent")) is not None:
            raise ArmLacks(str(lacking))

    def time(self, benchmark: str, batch: CallBatch) -> TimedBatch:
        """Time a batch of calls; the test itself checks results."""
        answer = self.ask("time", calls=batch.calls)
        return TimedBatch(self.timing(answer, batch.calls), faults=self.number(answer, "faults"))

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Return an empty list: results are not ids."""
        return []

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Let the test finish its checks; raise ``ArmFailed`` where it fails."""
        return self.figures(self.ask("finish"))


StartOwn = Callable[[Sequence[str] | None], PytestProcess]  # wanted names (None: all)


@dataclass(frozen=True, slots=True)
class OwnTests:
    """Tests of the base's own files that use the fixture."""

    start: StartOwn
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def settle(self, measured: Measured, deadline: float) -> None:
        """Mark as failed each benchmark that runs in the base's own tests and not in the head's.

        The head's test is skipped, or cannot run in the base. A benchmark that neither runs stays as it is. Where the
        base's own test gives no answer, the benchmark is inconclusive, with both reasons.
        """
        reasons = {**measured.new, **measured.skipped}
        doubtful = [name for name in self.names if name in reasons]
        tried, unknown = self._try_tests(doubtful, deadline)
        for name, runs in tried.items():
            if runs is False:
                continue
            measured.new.pop(name, None)
            measured.skipped.pop(name, None)
            if runs is None:
                why = f"the head's test does not run; whether the base's own does is unknown, {unknown}: "
                measured.refusals[name] = (GateVerdict.INCONCLUSIVE, why + reasons[name])
            else:
                why = f"the base's own test runs, and the head's does not: {reasons[name]}"
                measured.refusals[name] = (GateVerdict.FAILED, why)

    def _try_tests(self, names: Sequence[str], deadline: float) -> tuple[dict[str, bool | None], str]:
        """Return whether each test calls its fixture (None: unknown), and the reason for unknown ones."""
        runs: dict[str, bool | None] = {}
        while (left := [name for name in names if name not in runs]) and time.monotonic() < deadline:
            before = len(runs)
            with suppress(ArmFailed), closing(self.start(left)) as worker:  # the rest gets a new process
                worker.benchmarks()
                for name in left:
                    runs[name] = False
                    with suppress(ArmLacks):
                        worker.prepare(name)
                        runs[name] = True
                        worker.finish(name)
            if len(runs) == before:
                break
        if len(runs) == len(names) and time.monotonic() < deadline:
            return runs, ""
        unknown = "as its process failed" if time.monotonic() < deadline else "as the time ran out"
        return {**dict.fromkeys(names), **{name: True for name, does_run in runs.items() if does_run}}, unknown


def own_tests(start: StartOwn) -> OwnTests:
    """Collect the base's own tests. A failure is only a note, so that a head which mends it can pass."""
    try:
        with closing(start(None)) as worker:
            names = worker.benchmarks()
            notes = [f"the base's own {file} cannot be collected: {why}" for file, why in worker.broken.items()]
    except ArmFailed as failure:
        names, notes = (), [f"the base's own tests are not known: {failure}"]
    return OwnTests(start, names, tuple(f"{note}; a removed benchmark goes unnoticed" for note in notes))


def starting(arms: Arms, planted: PlantedTests, deadline: float) -> tuple[Start, OwnTests]:
    """Collect the base's own tests, and return them with the function that starts an arm's process.

    Args:
        arms: both arms.
        planted: their tests.
        deadline: end of the gate's time (``time.monotonic``).
    """

    def start_own(wanted: Sequence[str] | None) -> PytestProcess:
        return PytestProcess(
            arms.base, planted.path, wanted=wanted, modules=planted.modules, tree=planted.own, deadline=deadline
        )

    own = own_tests(start_own) if planted.own is not None else OwnTests(start_own, notes=planted.notes)

    def start(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
        del launch
        arm = arms.base if side == "base" else arms.head
        return PytestProcess(
            arm, planted.path, wanted=wanted, modules=planted.modules, own=own.names, deadline=deadline
        )

    return start, own


WORKLOAD = "pytest"
SEVERAL_THREADS = 1.1  # CPU time / wall time: above, several threads must have run
MOSTLY_WAITING = 0.2  # below: waiting for a child process, a disk, a timer; a busy machine at most halves the ratio
UNLIKE = 1.3  # factor by which the ratios of the sides may differ: they take turns on one machine, busy or not


def benchmarks_of_tests(rounds: Sequence[Rounds], unmeasured: Iterable[str], library: str) -> tuple[GateBenchmark, ...]:
    """Describe the measured benchmarks, then the others: refused, or not reached in time.

    Work of one thread is judged by CPU time, which neighbours hardly disturb. CPU time would miss work that several
    threads share or another process does: then wall time counts, and the benchmark gets two threads. One such side
    is enough; so are sides whose ratios of CPU to wall time differ.
    """
    threads: dict[str, int] = {}
    for part in rounds:
        low, high = sorted(
            median([timing.cpu / max(timing.wall, 1) for timing in side]) for side in (part.base, part.head)
        )
        one_thread = low >= MOSTLY_WAITING and high <= min(SEVERAL_THREADS, UNLIKE * low)
        threads.setdefault(part.benchmark, 1 if one_thread else 2)
    names = dict.fromkeys((*threads, *unmeasured))
    return tuple(GateBenchmark(name, WORKLOAD, library, text="", threads=threads.get(name, 1)) for name in names)
