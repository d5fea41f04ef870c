"""An arm of a gate as its parent sees it: a process that runs the driver, asked for one thing at a time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms.arm import Arm
from pyharness.features.gate.driving.asking import TIME_LIMIT_SECONDS, Asked
from pyharness.features.gate.suites import DRIVER, GateSuite
from pyharness.features.gate.types import Absent, ArmFailed, Batch, Figure, GateBenchmark, TimedBatch


class DriverProcess(Asked):
    """One arm in one launch.

    Args:
        arm: what is started.
        suite: what it is asked for.
        texts: file of each kind of text.
        time_limit: seconds for an answer.
        deadline: when the gate's time is over.
        memory_limit: bytes that it may hold.
        driver: the file that is run, and what it takes beside the workloads.
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
        deadline: float = math.inf,
        memory_limit: int | None = None,
        driver: tuple[Path, *tuple[str, ...]] = (DRIVER,),
        tool: Sequence[str] = (),
    ) -> None:
        command = [str(driver[0]), str(suite.workloads.resolve()), *driver[1:]]
        limits: dict[str, Any] = {"time_limit": time_limit, "deadline": deadline, "memory_limit": memory_limit}
        super().__init__(arm, command, tool=tool, **limits)
        self._benchmarks = {benchmark.name: benchmark for benchmark in suite.benchmarks}
        try:
            self.ask("texts", paths={kind: str(path.resolve()) for kind, path in texts.items()})
        except ArmFailed:
            self.close()
            raise

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
        said = self.ask("time", name=benchmark, spans=spans, extra=batch.extra, core=batch.core)
        digest, faults = self.shaped(said, "digest", str), self.number(said, "faults")
        return TimedBatch(self.timing(said, len(spans)), digest, faults)

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Ids of one call."""
        ids: list[int] = self.shaped(self.ask("result", name=benchmark, span=span), "ids", list)
        if not all(type(one) is int for one in ids):
            raise self.failed("the process gave ids that are no whole numbers")
        return ids

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Let go of a benchmark; returns its memory, where the system tells."""
        return self.figures(self.ask("finish", name=benchmark))
