"""The plan of a gate: everything that a launch needs.

The time limit of an answer follows from earlier answers to the same question, on either side. A side that exceeds it
may hang.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from pyharness.features.gate.types import (
    LEAST_TIMEOUT,
    ArmFailed,
    ArmProcess,
    ArmSilent,
    CallBatch,
    GateBenchmark,
    GateRules,
    Side,
)
from pyharness.report.sheet.strings import visible

HUNG_TIMES = 50.0  # times the longest earlier answer to the same question


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a side."""

    benchmark: str
    what: Literal["prepare", "time", "result", "finish"]
    batch: CallBatch | None = None  # of a question for time

    @property
    def calls(self) -> int:
        """Number of calls in the question."""
        return 1 if self.batch is None else self.batch.calls


class Gone(Exception):
    """An arm's process failed, in a benchmark or (None) before the first; the message has the side and the cause."""

    def __init__(self, side: Side, reason: str, question: Question | None = None, silent: float = 0.0) -> None:
        super().__init__(f"{side}: {reason}")
        self.side, self.question = side, question
        self.silent = silent  # seconds without an answer, where the gate had time left; 0: another failure


class Overtime(Exception):
    """The gate's time is over, or the screen's share of it."""


class Timeouts:
    """Durations of answers, by benchmark and kind of question."""

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], float] = {}  # the longest, in seconds per call

    def limit(self, question: Question) -> float:
        """Return the time limit of an answer in seconds; infinite without an earlier answer."""
        took = self._took.get((question.benchmark, question.what), math.inf)
        return max(LEAST_TIMEOUT, HUNG_TIMES * took * question.calls)

    @contextmanager
    def asking(self, side: Side, process: ArmProcess, question: Question) -> Iterator[None]:
        """Limit the wait for an answer, and learn from its duration; raise ``Gone`` where none comes."""
        process.timeout = self.limit(question)
        begun = time.monotonic()
        with failing(side, question):
            yield
        process.timeout = math.inf
        key, took = (question.benchmark, question.what), (time.monotonic() - begun) / question.calls
        self._took[key] = max(took, self._took.get(key, 0.0))


@contextmanager
def failing(side: Side, question: Question | None = None) -> Iterator[None]:
    """Turn the failure of an arm into ``Gone``, which names side and question; None before the first question."""
    begun = time.monotonic()
    try:
        yield
    except ArmSilent as failure:
        raise Gone(side, str(failure), question, time.monotonic() - begun) from None
    except ArmFailed as failure:
        raise Gone(side, str(failure), question) from None


class FreshText(Protocol):
    """Text that is unread in this launch."""

    def begin(self, launch: int) -> None:
        """Restart for fresh processes."""

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        """Return the texts of ``calls`` calls; empty where the benchmark reads none."""

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        """Return the calls per batch for which ``batches`` batches have new text; None for a benchmark without text."""


class GateListener:
    """Listener to the progress of a gate; this one reports nothing."""

    def stage(self, what: str) -> None:
        """Report the beginning of a stage, such as a build or a launch."""

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Report the present benchmark, and how many are done."""


class GateLines(GateListener):
    """Progress as lines: one when a stage begins, such as a build or a launch."""

    def stage(self, what: str) -> None:
        """Print the stage."""
        print(visible(what), file=sys.stderr, flush=True)  # noqa: T201


class GateStatus(GateListener):
    """Progress as one line that changes."""

    def __init__(self, update: Callable[[str], None]) -> None:
        self.update, self.what = update, ""

    def stage(self, what: str) -> None:
        """Show the stage."""
        self.what = visible(what).partition(":")[0]
        self.update(self.what)

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Show the present benchmark."""
        self.update(f"{self.what}: {visible(benchmark)} ({done + 1} of {total})")


Start: TypeAlias = Callable[[Side, int, Sequence[str] | None], ArmProcess]  # side, launch, wanted names (None: all)


@dataclass
class GatePlan:
    """Plan of a gate's measurements."""

    start: Start
    text: FreshText
    rules: GateRules
    benchmarks: Mapping[str, GateBenchmark]  # of the suite; empty if tests run
    listener: GateListener = field(default_factory=GateListener)
    deadline: float = math.inf  # time.monotonic()
    lot: random.Random = field(default_factory=random.Random)
    extra: Mapping[str, float] = field(default_factory=dict)  # slowdown planted in the head, by benchmark
    counting: Start | None = None  # starts processes under the instruction counter; None: no counting
    timeouts: Timeouts = field(default_factory=Timeouts)  # durations of answers so far
    counted: bool = False  # whether this launch counts instructions: a few batches suffice; their times are invalid
