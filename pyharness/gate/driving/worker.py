"""An arm of a gate as its parent sees it: a process that runs the driver, asked for one thing at a time."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pyharness.gate.suites import DRIVER, GateSuite
from pyharness.store.shape import Misshapen, get
from pyharness.system.child_process import Child, ChildDied, Overdue
from pyharness.types import (
    Absent,
    ArmFacts,
    ArmFailed,
    Batch,
    Figure,
    GateBenchmark,
    InputError,
    Side,
    TimedBatch,
    Timing,
)  # fmt: skip

TIME_LIMIT_SECONDS = 300.0  # for an answer: a preparation may train, a batch takes some milliseconds
FIGURES: tuple[Figure, ...] = ("memory", "instructions")
LONGEST = 1 << 62  # nanoseconds, bytes or instructions


class Arm(Protocol):
    """What an arm must say to be started."""

    @property
    def side(self) -> Side:
        """Which of the two it is."""

    @property
    def source(self) -> str:
        """What was asked for."""

    @property
    def version(self) -> str:
        """What came of that."""

    @property
    def python(self) -> Path:
        """Interpreter."""

    @property
    def folder(self) -> Path:
        """Where it works."""

    @property
    def variables(self) -> Mapping[str, str]:
        """All of its environment."""

    @property
    def tokenizer(self) -> str | None:
        """Specification, where two tokenizers are compared."""


class Worker:
    """One arm in one launch.

    Args:
        arm: what is started.
        suite: what it is asked for.
        texts: file of each kind of text.
        time_limit: seconds for an answer.
        memory_limit: bytes that it may hold.
        tool: a program, with its arguments, that runs the interpreter: one that counts.

    Raises:
        ArmFailed: it does not start.
    """

    def __init__(
        self,
        arm: Arm,
        suite: GateSuite,
        texts: Mapping[str, Path],
        *,
        time_limit: float = TIME_LIMIT_SECONDS,
        memory_limit: int | None = None,
        tool: Sequence[str] = (),
    ) -> None:
        self.arm, self.time_limit = arm, time_limit
        self._benchmarks = {benchmark.name: benchmark for benchmark in suite.benchmarks}
        self._asked = 0
        try:
            self.child = Child(
                [str(DRIVER), str(suite.workloads.resolve())],
                program=[*tool, str(arm.python), "-P", "-s"],
                folder=arm.folder,
                environment=arm.variables,
                bare=True,
                memory_limit=memory_limit,
                asked=True,
            )
        except InputError as error:
            raise ArmFailed(f"{arm.python}: {error}") from None
        try:
            self.ask("texts", paths={kind: str(path.resolve()) for kind, path in texts.items()})
        except ArmFailed:
            self.close()
            raise

    def facts(self) -> ArmFacts:
        """Say what it is."""
        said = self.ask("hello")
        facts, libraries = (self._shaped(said, name, dict) for name in ("facts", "libraries"))
        return ArmFacts(self.arm.side, self.arm.source, self.arm.version, facts, libraries)

    def benchmarks(self) -> tuple[str, ...]:
        """Names of those of the suite, in its order."""
        return tuple(self._benchmarks)

    def prepare(self, benchmark: str) -> None:
        """Import, load and build what a benchmark needs; raises ``Absent`` where its library lacks that."""
        said = self.ask("prepare", benchmark=dataclasses.asdict(self._for_this_arm(self._benchmarks[benchmark])))
        if (lacking := said.get("absent")) is not None:
            raise Absent(str(lacking))

    def _for_this_arm(self, benchmark: GateBenchmark) -> GateBenchmark:
        """A row of the arm, or of its side, is an option of the workload."""
        row = benchmark.options.get("tokenizer", self.arm.tokenizer)
        if isinstance(row, dict):
            row = row.get(self.arm.side)
        return dataclasses.replace(benchmark, options={**benchmark.options, "tokenizer": row}) if row else benchmark

    def time(self, benchmark: str, batch: Batch) -> TimedBatch:
        """Do a batch of calls on the clock."""
        spans = batch.spans or ((0, 0),) * batch.calls
        said = self.ask("time", name=benchmark, spans=spans, extra=batch.extra)
        wall, cpu, calls = (self._number(said, name) for name in ("wall", "cpu", "calls"))
        if calls != len(spans):
            raise self._failed(f"the process did {calls:,} of {len(spans):,} calls")
        if wall <= 0 or cpu <= 0:
            raise self._failed(
                f"its clock goes backwards or stands still: {len(spans):,} calls took {wall:,} ns by the wall and "
                f"{cpu:,} ns of the processor"
            )
        return TimedBatch(Timing(wall, cpu), self._shaped(said, "digest", str))

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Ids of one call."""
        ids: list[int] = self._shaped(self.ask("result", name=benchmark, span=span), "ids", list)
        if not all(type(one) is int for one in ids):
            raise self._failed("the process gave ids that are no whole numbers")
        return ids

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Let go of a benchmark; returns its memory, where the system tells."""
        figures = self._shaped(self.ask("finish", name=benchmark), "figures", dict)
        return {name: self._number(figures, name) for name in FIGURES if name in figures}

    def close(self) -> None:
        """End the process and all that it has started."""
        self.child.close()

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """Send a message and wait for its answer; raises ``ArmFailed`` with the reason where there is none."""
        self._asked += 1
        deadline = time.monotonic() + self.time_limit
        try:
            self.child.tell(json.dumps({"id": self._asked, "do": what, **details}).encode(), deadline)
            answer = self._understood(self.child.listen(deadline))
        except Overdue:
            raise ArmFailed(f"no answer within the time limit of {self.time_limit:g} s ({what})") from None
        except ChildDied as death:
            raise ArmFailed(f"the process {death}") from None
        if (error := answer.get("error")) is not None:
            raise ArmFailed(str(error))
        return answer

    def _understood(self, line: bytes | None) -> dict[str, Any]:
        if line is None:
            raise ArmFailed("the process ended with status 0 and without an answer")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("id") != self._asked:
            raise self._failed(f"the process said what is no answer: {line[:80]!r}")
        return answer

    def _number(self, said: Mapping[str, Any], name: str) -> int:
        number: int = self._shaped(said, name, int)
        if abs(number) > LONGEST:
            raise self._failed(f"the process gave {name} = {number:.3g}")
        return number

    def _shaped(self, said: Mapping[str, Any], name: str, kind: type) -> Any:
        try:
            return get(said, name, kind)
        except Misshapen as fault:
            raise self._failed(f"the process gave an answer that is none: {fault}") from None

    def _failed(self, how: str) -> ArmFailed:
        self.close()  # what it says cannot be believed any more
        return ArmFailed(how)
