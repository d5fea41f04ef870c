"""An arm whose benchmarks are a project's own tests, as its parent sees it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms.arm import Arm
from pyharness.features.gate.benchmarking.trees import FOLDER
from pyharness.features.gate.driving.asking import TIME_LIMIT_SECONDS, Asked
from pyharness.features.gate.suites import DRIVER
from pyharness.features.gate.types import Absent, Batch, Figure, TimedBatch

PLUGIN = Path(__file__).with_name("plugin.py")
SCRATCH = "temporary"  # beside the tests: pytest's folder for them


class PytestProcess(Asked):
    """One arm in one launch: pytest, in which the test of a benchmark waits for what it is asked.

    Args:
        arm: what is started.
        path: the tests to run, relative to the tree of the tests; a folder, a file, or a node id of pytest.
        wanted: names of the benchmarks that are wanted; None: all.
        modules: those under test, which must not come from that tree.
        own: the base's own tests that use the fixture, which may be others than those in the tree.
        tree: of the tests; None: that in the arm's folder, where they were planted.
        time_limit: seconds for an answer.
        deadline: when the gate's time is over.
        memory_limit: bytes that it may hold.

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
        time_limit: float = TIME_LIMIT_SECONDS,
        deadline: float = math.inf,
        memory_limit: int | None = None,
    ) -> None:
        self._tests = tree or arm.folder / FOLDER
        command = [str(PLUGIN), str(DRIVER)]
        limits: dict[str, Any] = {"time_limit": time_limit, "deadline": deadline, "memory_limit": memory_limit}
        super().__init__(arm, command, folder=self._tests, **limits)
        self._path, self._wanted, self._modules, self._own = path, wanted, tuple(modules), tuple(own)
        self._names: tuple[str, ...] = ()
        self.broken: dict[str, str] = {}  # files that cannot be collected, and why

    def benchmarks(self) -> tuple[str, ...]:
        """Node ids of the tests that use the fixture, in the order in which pytest runs them; then the base's own.

        What the head's code cannot import is a failure: the tests are the head's. To the base it is new.
        """
        file, _, test = self._path.partition("::")
        if (self._tests / file).exists() or not self._own:
            self._names = self._collected(file, test)
        if self.arm.side == "head":
            return self._names
        wanted = self._own if self._wanted is None else [name for name in self._own if name in self._wanted]
        return (*self._names, *(name for name in wanted if name not in self._names))

    def _collected(self, file: str, test: str) -> tuple[str, ...]:
        scratch = self._tests.with_name(SCRATCH)
        said = self.ask(
            "collect",
            arguments=[f"--basetemp={scratch}", file],
            test=test,
            names=None if self._wanted is None else [*self._wanted],
            modules=self._modules,
        )
        names, self.broken, skipped, origins = (
            self.shaped(said, name, kind)
            for name, kind in (("collected", list), ("broken", dict), ("skipped", dict), ("origins", dict))
        )
        if self.broken and self.arm.side == "head":
            raise self.failed("; ".join(f"{file} cannot be collected: {why}" for file, why in self.broken.items()))
        for module, origin in origins.items():
            if origin is not None and Path(origin).resolve().is_relative_to(self._tests.resolve()):
                raise self.failed(f"the tests import {module} from their own tree and not what is installed: {origin}")
        if not names and self._wanted is None and not self._own:
            raise self.failed(self._nothing(said, {**self.broken, **skipped}))
        return tuple(map(str, names))

    def _nothing(self, said: Mapping[str, object], reasons: Mapping[str, str]) -> str:
        why = "".join(f"; {file}: {reason}" for file, reason in reasons.items())
        return f"none of the {said.get('tests')} tests in {self._path} uses the benchmark fixture{why}"

    def prepare(self, benchmark: str) -> None:
        """Run a test until it calls its fixture; raises ``Absent`` where it is skipped or does not call it."""
        if benchmark in self._own and benchmark not in self._names:
            broken = next((why for file, why in self.broken.items() if benchmark.startswith(file)), "it is not there")
            raise Absent(f"the head's test cannot be collected with the base's code: {broken}")
        if (lacking := self.ask("prepare", name=benchmark).get("absent")) is not None:
            raise Absent(str(lacking))

    def time(self, benchmark: str, batch: Batch) -> TimedBatch:
        """Do a batch of calls on the clock; the test checks results."""
        said = self.ask("time", calls=batch.calls)
        return TimedBatch(self.timing(said, batch.calls), faults=self.number(said, "faults"))

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Nothing: results are no ids."""
        return []

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Let the test go on to its checks, and end; raises ``ArmFailed`` where it fails."""
        return self.figures(self.ask("finish"))
