"""One benchmark of one launch: batches of both arms in turns, on text that is new to both.

The order is random, and balanced by construction: of every two rounds, and of every two launches, each arm goes first
in one. Balance matters: in 13 of 13 false alarms of one project the arm measured second was slower. A fair coin alone
may fall on one side ten times in twenty.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pyharness.features.gate.measurement.plan import GatePlan, Overtime, Question
from pyharness.features.gate.types import SIDES, ArmProcess, CallBatch, Figure, Rounds, Side, TimedBatch, Timing


def head_first(generator: random.Random) -> Iterator[bool]:
    """Yield without end whether the head goes first: true once in every two, in random order.

    >>> from itertools import islice
    >>> drawn = list(islice(head_first(random.Random(3)), 6))
    >>> [drawn[0] + drawn[1], drawn[2] + drawn[3], drawn[4] + drawn[5]]
    [1, 1, 1]
    """
    while True:
        first = generator.random() < 0.5
        yield first
        yield not first


def in_turn(head_is_first: bool) -> tuple[Side, Side]:
    """Return both sides in their order."""
    return ("head", "base") if head_is_first else ("base", "head")


SETTLING = 6  # batches to settle the number of calls: of one call, of a few more, ...
WARM_UPS = 3  # batches before the first round of a launch; the first call builds tables, the second fills caches
SPARE_ROUNDS = 4  # of a benchmark in a launch, to repeat rounds with page faults (pages of files were read from a disk)
LONGEST_BATCH = 0.1  # seconds of several calls: one side may be a thousand times slower than the other
NANOSECONDS = 1e9

Pair = dict[Side, ArmProcess]


class Differs(Exception):
    """The two sides give different results for the same text; the message says where, if results have ids."""


@dataclass
class Turns:
    """One benchmark of one launch, prepared on both sides."""

    plan: GatePlan
    pair: Pair
    name: str
    launch: int
    calls: dict[str, int]
    settled: float = math.inf  # seconds of the slower side's batch when the calls were settled, in that launch only
    faulty: int = 0  # rounds with page faults

    def measured(self) -> Rounds:
        """Warm up, measure the rounds, and finish the benchmark.

        Raises:
            Differs: the sides give different results.
            Gone: an arm fails.
            InputError: too little text is new.
            Overtime: the gate's time runs out.
        """
        slowest = self._warm_up()
        timed: dict[Side, list[TimedBatch]] = {"base": [], "head": []}
        number = self._rounds(slowest)
        firsts = list(islice(head_first(self.plan.lot), number))
        for index, first in enumerate(firsts):
            for side, answer in self._round(first, self._core(index)).items():
                timed[side].append(answer)
        base, head = (tuple(answer.timing for answer in timed[side]) for side in SIDES)
        memory, instructions = self._finish()
        return Rounds(self.name, self.launch, self.calls[self.name], base, head, tuple(firsts), memory, instructions)

    def _round(self, first: bool, core: int | None) -> dict[Side, TimedBatch]:
        """Measure one round; repeat it on other text while it has page faults and spare rounds are left."""
        while True:
            if time.monotonic() > self.plan.deadline:
                raise Overtime
            answers = self._turn(self.calls[self.name], first, core)
            if not any(answer.faults for answer in answers.values()) or self.plan.counted:
                return answers
            self.faulty += 1
            if self.faulty > SPARE_ROUNDS:
                return answers

    def said(self) -> str:
        """Return a note on page faults; empty without any."""
        if not self.faulty:
            return ""
        stayed = f", {more} stayed so" if (more := self.faulty - SPARE_ROUNDS) > 0 else ""
        return (
            f"{self.name}, launch {self.launch}: pages of files were read from a disk in timed calls; rounds measured "
            f"again: {min(self.faulty, SPARE_ROUNDS)}{stayed}"
        )

    def _warm_up(self) -> float:
        """Settle the calls of a batch; return the slower side's seconds in the fastest of several batches."""
        settling = self.name not in self.calls
        if settling:
            self.calls[self.name] = self._settle_calls()
        fastest = math.inf
        for done in range(1 if self.plan.counted else WARM_UPS):
            took = self._turn(self.calls[self.name], self.plan.lot.random() < 0.5).values()
            fastest = min(fastest, max(answer.timing.wall / NANOSECONDS for answer in took))
            if (settling or done) and self._rounds(min(fastest, self.settled)) <= self.plan.rules.fewest_rounds:
                break  # such a long call is warm; one batch alone may be cold or disturbed
        return min(fastest, self.settled)

    def _settle_calls(self) -> int:
        """Find the number of calls for which a warm batch is long enough on the faster side.

        The first call builds tables, and a batch may be disturbed: so the fastest batch gives the time of a call.
        """
        calls, fastest, slowest = 1, math.inf, math.inf
        for left in reversed(range(SETTLING)):
            took = [answer.timing for answer in self._turn(calls, self.plan.lot.random() < 0.5).values()]
            fastest = min(fastest, *(self._judged_time(timing) / NANOSECONDS / calls for timing in took))
            slowest = min(slowest, max(timing.wall / NANOSECONDS / calls for timing in took))
            enough = min(math.ceil(self.plan.rules.batch_seconds / fastest), int(LONGEST_BATCH / slowest))
            was, calls = calls, self._affordable(max(1, enough), left, slowest)
            if was == calls == 1 and left < SETTLING - 1:
                break  # one call is a batch
        self.settled = slowest * calls
        return calls

    def _judged_time(self, timing: Timing) -> int:
        """Return nanoseconds of CPU for one declared thread, whatever else runs; else of wall time, also for tests."""
        declared = self.plan.benchmarks.get(self.name)
        return timing.cpu if declared is not None and declared.threads == 1 else timing.wall

    def _affordable(self, calls: int, settling: int, slowest: float) -> int:
        """Limit the calls of a batch by the new text, for a launch's batches and ``settling`` earlier ones.

        The number of rounds assumes that a call (``slowest`` seconds here) may be twice as fast in another launch.
        """
        declared = self.plan.benchmarks.get(self.name)
        if declared is None:
            return calls
        batches = self._rounds(slowest * calls / 2) + SPARE_ROUNDS + WARM_UPS + settling
        batches = math.ceil(batches * (1 + self.plan.extra.get(self.name, 0.0)))
        limit = self.plan.text.affordable(declared, batches)
        return calls if limit is None else max(1, min(calls, limit))

    def _rounds(self, slowest: float) -> int:
        if self.plan.counted:
            return 2
        rules = self.plan.rules
        affordable = int(rules.seconds / max(2 * slowest, 1e-9)) // 2 * 2
        return min(rules.rounds, max(affordable, rules.fewest_rounds))

    def _core(self, index: int) -> int | None:
        """Return the processor of both arms in a round: a new one every two rounds, so that each arm goes first once.

        None (any processor) for several threads, and for tests.

        One processor is busier than another, and an arm that the system leaves there is slower for a whole launch. We
        measured the root mean square of four benchmarks' effects on identical code, in 16 launches on two busy cores.
        It was 4.2 to 9.6 % where the system chose, and 1.6 to 3.2 % with this rotation.
        """
        declared = self.plan.benchmarks.get(self.name)
        return index // 2 if declared is not None and declared.threads == 1 else None

    def _turn(self, calls: int, head_is_first: bool, core: int | None = None) -> dict[Side, TimedBatch]:
        spans = self._spans(calls)
        more = self._planted_spans(spans, self.plan.extra.get(self.name, 0.0))
        answers: dict[Side, TimedBatch] = {}
        for side in in_turn(head_is_first):
            batch = CallBatch(calls, spans, extra=more if side == "head" else (), core=core)
            with self.plan.timeouts.asking(side, self.pair[side], Question(self.name, "time", batch)):
                answers[side] = self.pair[side].time(self.name, batch)
        if answers["base"].digest != answers["head"].digest:
            raise Differs(self._where(spans))
        return answers

    def _spans(self, calls: int) -> tuple[tuple[int, int], ...]:
        declared = self.plan.benchmarks.get(self.name)
        return () if declared is None else self.plan.text.spans(declared, calls)

    def _planted_spans(self, spans: Sequence[tuple[int, int]], share: float) -> tuple[tuple[int, int], ...]:
        """Return further calls on other text, for ``share`` more bytes; the last text is cut."""
        left = round(share * sum(length for _, length in spans))
        cut = []
        for begin, length in self._spans(math.ceil(share * len(spans)) + 1) if left else ():
            if left <= 0:
                break
            cut.append((begin, min(length, left)))
            left -= length
        return tuple(cut)

    def _where(self, spans: Sequence[tuple[int, int]]) -> str:
        """Name the first text, and its first token, at which the two sides differ."""
        for index, span in enumerate(spans):
            ids: dict[Side, list[int]] = {}
            for side in SIDES:
                with self.plan.timeouts.asking(side, self.pair[side], Question(self.name, "result")):
                    ids[side] = self.pair[side].result(self.name, span)
            if ids["base"] != ids["head"]:
                place = next((n for n, (a, b) in enumerate(zip(*ids.values(), strict=False)) if a != b),
                             min(map(len, ids.values())))  # fmt: skip
                shown = ", ".join(f"{side} {ids[side][place : place + 4]}" for side in SIDES)
                return f"different ids: text {index} of a batch ({span[1]} bytes), from token {place} on: {shown}"
        return "the two sides give different results for the same text"

    def _finish(self) -> tuple[dict[Side, int], dict[Side, int]]:
        """Finish the benchmark on both sides; return memory and instructions, as far as they are known."""
        figures: dict[Side, Mapping[Figure, int]] = {}
        for side in SIDES:
            with self.plan.timeouts.asking(side, self.pair[side], Question(self.name, "finish")):
                figures[side] = self.pair[side].finish(self.name)
        memory = {side: counted["memory"] for side, counted in figures.items() if "memory" in counted}
        return memory, {side: counted["instructions"] for side, counted in figures.items() if "instructions" in counted}
