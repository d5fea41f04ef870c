"""What a gate measures, and how: everything that a launch needs.

How long an answer is waited for, is known by what the same took before, on either side. Who is silent for longer may
hang.
"""

from __future__ import annotations

import math
import random
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

HUNG_TIMES = 50.0  # times as long as the longest answer to the same


@dataclass(frozen=True, slots=True)
class Question:
    """What a side is asked."""

    benchmark: str
    what: Literal["prepare", "time", "result", "finish"]
    batch: CallBatch | None = None  # where it is asked for time

    @property
    def calls(self) -> int:
        """Calls that it asks for."""
        return 1 if self.batch is None else self.batch.calls


class Gone(Exception):
    """An arm's process failed, in a benchmark or (None) before any; the message says which side and how."""

    def __init__(self, side: Side, reason: str, question: Question | None = None, silent: float = 0.0) -> None:
        super().__init__(f"{side}: {reason}")
        self.side, self.question = side, question
        self.silent = silent  # seconds without an answer, where the gate had time left; 0: it failed otherwise


class Overtime(Exception):
    """The time that the gate may take is over."""


class Timeouts:
    """What answers have taken, by benchmark and by what was asked."""

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], float] = {}  # seconds of a call, the longest

    def limit(self, question: Question) -> float:
        """Seconds that an answer may take; infinite where nothing is known of it."""
        took = self._took.get((question.benchmark, question.what), math.inf)
        return max(LEAST_TIMEOUT, HUNG_TIMES * took * question.calls)

    @contextmanager
    def asking(self, side: Side, process: ArmProcess, question: Question) -> Iterator[None]:
        """Wait for an answer so long and no longer, and learn from it; raises ``Gone`` where there is none."""
        process.timeout = self.limit(question)
        begun = time.monotonic()
        with failing(side, question):
            yield
        process.timeout = math.inf
        key, took = (question.benchmark, question.what), (time.monotonic() - begun) / question.calls
        self._took[key] = max(took, self._took.get(key, 0.0))


@contextmanager
def failing(side: Side, question: Question | None = None) -> Iterator[None]:
    """Say of a failure which side it befell, and what that was asked; None: it had yet to begin."""
    begun = time.monotonic()
    try:
        yield
    except ArmSilent as failure:
        raise Gone(side, str(failure), question, time.monotonic() - begun) from None
    except ArmFailed as failure:
        raise Gone(side, str(failure), question) from None


class FreshText(Protocol):
    """Text that nobody has read yet in this launch."""

    def begin(self, launch: int) -> None:
        """Start anew, for fresh processes."""

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        """Hand out the texts of ``calls`` calls; empty where the benchmark reads none."""

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        """Calls of a batch where so many batches are to have new text; None where the benchmark reads none."""


class GateListener(Protocol):
    """Is told how a gate is going."""

    def stage(self, what: str) -> None:
        """Learn what begins: a build, a launch."""

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Learn which benchmark of how many is measured."""


class SilentGate:
    """Says nothing."""

    def stage(self, what: str) -> None:
        """Say nothing."""

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Say nothing."""


Start: TypeAlias = Callable[[Side, int, Sequence[str] | None], ArmProcess]  # side, launch, wanted names (None: all)


@dataclass
class GatePlan:
    """What a gate measures, and how."""

    start: Start
    text: FreshText
    rules: GateRules
    benchmarks: Mapping[str, GateBenchmark]  # declared; what is found in the arms' own tests is added
    listener: GateListener = field(default_factory=SilentGate)
    deadline: float = math.inf  # time.monotonic()
    lot: random.Random = field(default_factory=random.Random)
    extra: Mapping[str, float] = field(default_factory=dict)  # slowdown that is planted in the head, by benchmark
    counting: Start | None = None  # starts processes whose instructions are counted; None: they are not
    timeouts: Timeouts = field(default_factory=Timeouts)  # what answers have taken so far
    counted: bool = False  # this is that launch: a few batches are enough, and their times are no times
