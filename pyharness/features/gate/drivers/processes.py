"""An arm of a gate, from its parent's side: a process that runs the driver and answers one request at a time.

Under valgrind it counts the instructions of a batch instead of its time. Counts are nearly equal in every process, but
they miss the cost of memory: random and sequential access take the same number.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.features.gate.builds.arms import Arm
from pyharness.features.gate.suites import DRIVER, GateSuite
from pyharness.features.gate.types import (
    LEAST_TIMEOUT,
    ArmFacts,
    ArmFailed,
    ArmLacks,
    ArmSilent,
    CallBatch,
    Figure,
    TimedBatch,
    Timing,
)
from pyharness.store.json_values import Misshapen, get
from pyharness.system.child_process import Child, ChildDied, Overdue
from pyharness.types import InputError

TIME_LIMIT_SECONDS = 300.0  # for an answer: a preparation may train; a batch takes some milliseconds
FIGURES: tuple[Figure, ...] = ("memory", "instructions")
LONGEST = 1 << 62  # nanoseconds, bytes or instructions


class AskedArm:
    """A process of an arm's interpreter that answers messages in turn; see ``driver.py``.

    Args:
        arm: the arm to start.
        command: a file that the interpreter runs, and its arguments.
        folder: working folder; default: the arm's.
        time_limit: seconds for an answer.
        deadline: end of the gate's time (``time.monotonic``), and of every wait for an answer.
        memory_limit: bytes of memory for the process and its children; default: a share of what is free.
        tool: a program with its arguments that runs the interpreter, to count instructions.

    Raises:
        ArmFailed: it does not start.
    """

    def __init__(
        self,
        arm: Arm,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        time_limit: float = TIME_LIMIT_SECONDS,
        deadline: float = math.inf,
        memory_limit: int | None = None,
        tool: Sequence[str] = (),
    ) -> None:
        self.arm, self.time_limit, self.deadline = arm, time_limit, deadline
        self.timeout = math.inf  # seconds to wait for an answer, if shorter than the other limits
        self._asked = 0
        try:
            self.child = Child(
                command,
                program=[*tool, str(arm.python), "-P", "-s"],
                folder=folder or arm.folder,
                environment=arm.variables,
                bare=True,
                memory_limit=memory_limit,
                asked=True,
            )
        except InputError as error:
            raise ArmFailed(f"{arm.python}: {error}") from None

    def facts(self) -> ArmFacts:
        """Return what the process says of itself."""
        answer = self.ask("hello")
        facts, libraries = (self.shaped(answer, name, dict) for name in ("facts", "libraries"))
        return ArmFacts(self.arm.side, self.arm.source, self.arm.version, facts, libraries)

    def close(self) -> None:
        """End the process and its children."""
        self.child.close()

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """Send a message and wait for its answer; raise ``ArmFailed`` where none comes, or an error."""
        self._asked += 1
        begun = time.monotonic()
        left = self.deadline - begun
        share = max(left / 2, min(left, LEAST_TIMEOUT))  # the other side needs as many seconds
        longest = min(self.time_limit, self.timeout, share)
        deadline = min(begun + longest, self.deadline)
        try:
            self.child.tell(json.dumps({"id": self._asked, "do": what, **details}).encode(), deadline)
            answer = self._understood(self.child.listen(deadline))
        except Overdue:
            if deadline < self.deadline:
                raise ArmSilent(f"no answer within {longest:.3g} s ({what})") from None
            raise ArmFailed(f"no answer within the time of the gate ({what})") from None
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
            raise self.failed(f"the process gave no answer, but {line[:80]!r}")
        return answer

    def timing(self, answer: Mapping[str, Any], calls: int) -> Timing:
        """Read the times of a batch; raise ``ArmFailed`` where they are impossible."""
        wall, cpu, done = (self.number(answer, name) for name in ("wall", "cpu", "calls"))
        if done != calls:
            raise self.failed(f"the process did {done:,} of {calls:,} calls")
        if wall <= 0 or cpu <= 0:
            raise self.failed(
                f"its clock goes backwards or stands still: {calls:,} calls took {wall:,} ns by the wall and "
                f"{cpu:,} ns of the processor"
            )
        return Timing(wall, cpu)

    def figures(self, answer: Mapping[str, Any]) -> dict[Figure, int]:
        """Read the figures other than time."""
        figures = self.shaped(answer, "figures", dict)
        return {name: self.number(figures, name) for name in FIGURES if name in figures}

    def number(self, answer: Mapping[str, Any], name: str) -> int:
        """Read a whole number of an answer."""
        number: int = self.shaped(answer, name, int)
        if abs(number) > LONGEST:
            raise self.failed(f"the process gave {name} = {number:.3g}")
        return number

    def shaped(self, answer: Mapping[str, Any], name: str, kind: type) -> Any:
        """Read a value of an answer, and check its type."""
        try:
            return get(answer, name, kind)
        except Misshapen as fault:
            raise self.failed(f"the process gave a malformed answer: {fault}") from None

    def failed(self, how: str) -> ArmFailed:
        """End the process; return the exception to raise."""
        self.close()  # its answers can no longer be trusted
        return ArmFailed(how)


class DriverProcess(AskedArm):
    """One arm in one launch.

    Args:
        arm: the arm to start.
        suite: the suite of its benchmarks.
        texts: file of each kind of text.
        driver: the file to run, and its arguments after the workloads.
        limits: ``time_limit``, ``deadline``, ``memory_limit`` and ``tool`` of ``AskedArm``.

    Raises:
        ArmFailed: it does not start.
    """

    def __init__(
        self,
        arm: Arm,
        suite: GateSuite,
        texts: Mapping[str, Path],
        *,
        driver: tuple[Path, *tuple[str, ...]] = (DRIVER,),
        **limits: Any,
    ) -> None:
        super().__init__(arm, [str(driver[0]), str(suite.workloads.resolve()), *driver[1:]], **limits)
        self._benchmarks = {benchmark.name: benchmark for benchmark in suite.benchmarks}
        try:
            self.ask("texts", paths={kind: str(path.resolve()) for kind, path in texts.items()})
        except ArmFailed:
            self.close()
            raise

    def benchmarks(self) -> tuple[str, ...]:
        """Return the names of the suite's benchmarks, in its order."""
        return tuple(self._benchmarks)

    def prepare(self, benchmark: str) -> None:
        """Import, load and build what a benchmark needs; raise ``ArmLacks`` where its library lacks that."""
        asked = self._benchmarks[benchmark]
        row = asked.options.get("tokenizer", self.arm.tokenizer)  # the benchmark's own, else the arm's
        if isinstance(row, dict):
            row = row.get(self.arm.side)
        if row:
            asked = dataclasses.replace(asked, options={**asked.options, "tokenizer": row})
        answer = self.ask("prepare", benchmark=dataclasses.asdict(asked))
        if (lacking := answer.get("absent")) is not None:
            raise ArmLacks(str(lacking))

    def time(self, benchmark: str, batch: CallBatch) -> TimedBatch:
        """Time a batch of calls."""
        spans = batch.spans or ((0, 0),) * batch.calls
        answer = self.ask("time", name=benchmark, spans=spans, extra=batch.extra, core=batch.core)
        digest, faults = self.shaped(answer, "digest", str), self.number(answer, "faults")
        return TimedBatch(self.timing(answer, len(spans)), digest, faults)

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Return the ids of one call."""
        ids: list[int] = self.shaped(self.ask("result", name=benchmark, span=span), "ids", list)
        if not all(type(one) is int for one in ids):
            raise self.failed("the process gave ids that are no whole numbers")
        return ids

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Drop a benchmark; return its memory, where the system reports it."""
        return self.figures(self.ask("finish", name=benchmark))


COUNTING_DRIVER = Path(__file__).with_name("counting_driver.py")
STEADY = ("setarch", "--addr-no-randomize")  # code that hashes addresses then does the same in every process


def valgrind() -> tuple[str, ...]:
    """Return the command that runs an interpreter and counts its instructions.

    Raises:
        InputError: valgrind is not installed.
    """
    if (path := shutil.which("valgrind")) is None:
        raise InputError("counting instructions needs valgrind, which is not on the search path: install it")
    steady: tuple[str, ...] = ()
    if (setarch := shutil.which(STEADY[0])) is not None:
        tried = subprocess.run([setarch, *STEADY[1:], "true"], capture_output=True, check=False)
        steady = (setarch, *STEADY[1:]) if tried.returncode == 0 else ()  # many containers forbid it
    return (*steady, path, "--tool=callgrind", "--instr-atstart=no", "--dump-line=no", "--quiet")


class CountingProcess(DriverProcess):
    """One arm in one launch, with instructions counted.

    Args:
        arm: the arm to start; valgrind hides the processor's instructions beyond AVX2.
        suite: the suite of its benchmarks.
        texts: file of each kind of text.
        folder: valgrind's folder; the caller removes it.
        limits: as for ``DriverProcess``.

    Raises:
        ArmFailed: it does not start.
        InputError: valgrind is not installed.
    """

    def __init__(self, arm: Arm, suite: GateSuite, texts: Mapping[str, Path], folder: Path, **limits: Any) -> None:
        counts = folder.resolve() / f"counts-{arm.side}"  # names of the same length
        tool = (*valgrind(), f"--callgrind-out-file={counts}")
        super().__init__(arm, suite, texts, driver=(COUNTING_DRIVER, str(counts)), tool=tool, **limits)
