"""Doubles of the gate: arms that take the time they are told to, and keep a diary."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyharness.features.gate.measurement.plan import GatePlan
from pyharness.features.gate.types import (
    ArmFacts,
    ArmFailed,
    ArmLacks,
    CallBatch,
    Figure,
    GateBenchmark,
    GateRules,
    Side,
    TimedBatch,
    Timing,
)


@dataclass
class Diary:
    """What was asked of the arms, in order."""

    started: list[tuple[int, Side]] = field(default_factory=list)
    timed: list[tuple[int, str, Side, CallBatch]] = field(default_factory=list)
    closed: list[Side] = field(default_factory=list)


@dataclass
class FakeArm:
    """One arm of one launch; ``seconds(benchmark, side, launch)`` is the time of a call."""

    side: Side
    launch: int
    diary: Diary
    seconds: Callable[[str, Side, int], float]
    has: Sequence[str]
    absent: Mapping[str, str] = field(default_factory=dict)
    dies_in: str | None = None
    other_ids: str | None = None
    counts: int = 0
    waiting: float = 1.0  # wall time of a batch, as a multiple of processor time
    faulty: Sequence[int] = ()  # which of its batches, in order, wait for a page
    timeout: float = math.inf
    _batches: int = 0

    def facts(self) -> ArmFacts:
        return ArmFacts(self.side, f"the {self.side}", "1", {}, {"library": "1"})

    def benchmarks(self) -> tuple[str, ...]:
        return tuple(self.has)

    def prepare(self, benchmark: str) -> None:
        if benchmark in self.absent:
            raise ArmLacks(self.absent[benchmark])

    def time(self, benchmark: str, batch: CallBatch) -> TimedBatch:
        if benchmark == self.dies_in:
            raise ArmFailed("was killed by signal 9")
        self.diary.timed.append((self.launch, benchmark, self.side, batch))
        done = sum(length for _, length in (*batch.spans, *batch.extra)) / 100 if batch.spans else batch.calls
        spent = round(1e9 * self.seconds(benchmark, self.side, self.launch) * done)
        faults, self._batches = int(self._batches in self.faulty), self._batches + 1
        timing = Timing(round(spent * self.waiting), spent)
        return TimedBatch(timing, "other" if benchmark == self.other_ids else "same", faults)

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        if benchmark == self.other_ids and span[0] >= 250:
            return [5, 6, 8]
        return [5, 6, 7]

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        return {"instructions": self.counts} if self.counts else {"memory": 1000}

    def close(self) -> None:
        self.diary.closed.append(self.side)


class Ruler:
    """Text of 100 bytes for each call; by default without an end."""

    def __init__(self, texts: int | None = None) -> None:
        self.texts, self.place = texts, 0
        self.begun: list[int] = []

    def begin(self, launch: int) -> None:
        self.begun.append(launch)
        self.place = 0

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        begin, self.place = self.place, self.place + 100 * calls
        return tuple((begin + 100 * number, 100) for number in range(calls))

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        return None if self.texts is None else self.texts // batches


NAMES = ("encode", "decode", "split")


def gate_plan(
    seconds: Callable[[str, Side, int], float] = lambda *_: 0.001,
    rules: GateRules | None = None,
    **faults: Mapping[Side, object],
) -> tuple[GatePlan, Diary]:
    """A course of three benchmarks; ``faults`` are arguments of ``FakeArm`` by side."""
    diary = Diary()

    def start(side: Side, launch: int, wanted: Sequence[str] | None) -> FakeArm:
        diary.started.append((launch, side))
        mine = {name: by_side[side] for name, by_side in faults.items() if side in by_side}
        return FakeArm(side, launch, diary, seconds, **{"has": NAMES, **mine})  # type: ignore[arg-type]

    declared = {name: GateBenchmark(name, "workload", "library", bytes=100) for name in NAMES}
    return GatePlan(start, Ruler(), rules or GateRules(), declared), diary
