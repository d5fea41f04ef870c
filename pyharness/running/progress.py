"""Progress of a run: events for listeners, the time left, and the time limit.

Benchmarks may declare rough rates of an average row. Finished cases correct them, benchmark by benchmark.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyharness.benchmarks import benchmarks
from pyharness.benchmarks.rounds import rounds_of
from pyharness.types import Case, CaseResult, InputError, TrainingProgress


class Listener(Protocol):
    """Receives the events of a run: a progress bar, a log or a test."""

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Receive the progress of a row's training, which precedes the run."""

    def begin(self, total: int) -> None:
        """Receive the number of cases to measure."""

    def started(self, case: Case) -> None:
        """Receive the start of a case, or of one of its turns."""

    def progress(self, case: Case, done: int) -> None:
        """Receive the bytes of text that a case has read so far."""

    def remaining(self, seconds: float) -> None:
        """Receive an estimate of the seconds left; sent after each case but the last, once one is possible."""

    def finished(self, result: CaseResult) -> None:
        """Receive the result of a case."""


UNKNOWN_BYTES = 1_000_000  # assumed size of a text that has not been read yet
LEAST_SHARE = 0.15  # of the estimated work, done before an estimate is given: the first rows may be quick
WEIGHT = 2.0  # what all benchmarks have shown counts as much as this many cases of one benchmark


def foretold(case: Case, sizes: Mapping[str, int]) -> float | None:
    """Return the estimated seconds of a case at the declared rates; None if its benchmark declares none.

    Args:
        case: what is to be measured.
        sizes: bytes of the texts, by label, as far as they are known.
    """
    benchmark = benchmarks()[case.benchmark]
    if benchmark.pace is None:
        return None
    size = 0 if case.corpus is None else sizes.get(case.corpus, UNKNOWN_BYTES)
    read = min(size, int(case.parameters.get("bytes", size)))
    return (benchmark.pace.seconds + benchmark.pace.per_megabyte * read / 1e6) * max(1, rounds_of(case))


def in_words(seconds: float) -> str:
    """Return a rough duration in words.

    >>> in_words(34), in_words(200), in_words(5000)
    ('30 s', '3 min', '1.4 h')
    """
    if seconds < 95:
        return f"{max(1, round(seconds / 10)) * 10} s"
    return f"{seconds / 60:.0f} min" if seconds < 95 * 60 else f"{seconds / 3600:,.1f} h"


class CaseStopwatch:
    """Measures the seconds of each case. Cases may run side by side. A case in rounds is started once a round."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._running: dict[str, float] = {}  # when they were started, by case
        self._turn: Case | None = None

    def started(self, case: Case) -> None:
        """Start the clock of the case, and stop the clock of the case whose turn it was."""
        now = time.monotonic()
        if self._turn is not None:
            self._stop(self._turn, now)
        self._turn = case if rounds_of(case) else None
        self._running[case.key] = now

    def finished(self, case: Case) -> float:
        """Return the seconds of a case, in all its turns."""
        self._stop(self._turn or case, time.monotonic())
        return self._seconds.pop(case.key, 0.0)

    def _stop(self, case: Case, now: float) -> None:
        if (began := self._running.pop(case.key, None)) is not None:
            self._seconds[case.key] = self._seconds.get(case.key, 0.0) + now - began


class Spent:
    """Seconds of finished cases, measured and estimated."""

    def __init__(self) -> None:
        self.cases, self.seconds, self.expected = 0, 0.0, 0.0

    def add(self, seconds: float, expected: float) -> None:
        """Count a case."""
        self.cases, self.seconds, self.expected = self.cases + 1, self.seconds + seconds, self.expected + expected

    def factor(self, usual: float) -> float:
        """Return measured over estimated time, drawn towards ``usual``, and ``usual`` if no case is finished."""
        if not self.cases:
            return usual
        weight = WEIGHT * self.expected / self.cases
        return (self.seconds + weight * usual) / (self.expected + weight)


class TimeLeft:
    """A listener that estimates the time left and passes all events on to another listener.

    Args:
        listener: receives the events and the estimates.
        cases: what is to be measured.
        side_by_side: how many cases that are not timed are measured at once.
    """

    def __init__(self, listener: Listener, cases: Iterable[Case], side_by_side: int = 1) -> None:
        self.listener, self.side_by_side = listener, side_by_side
        self.preparing, self.begin = listener.preparing, listener.begin
        self.progress, self.remaining = listener.progress, listener.remaining
        self.todo = {case.key: case for case in cases}
        self.sizes: dict[str, int] = {}
        self.cases = 0  # that are finished
        self.watch, self.all = CaseStopwatch(), Spent()
        self.by_benchmark: dict[str, Spent] = {}

    def started(self, case: Case) -> None:
        """Start the clock, and pass the event on."""
        self.watch.started(case)
        self.listener.started(case)

    def finished(self, result: CaseResult) -> None:
        """Correct the rates, report the time left if it can be estimated, and pass the event on."""
        case, benchmark = result.case, benchmarks()[result.case.benchmark]
        self.todo.pop(case.key, None)
        spent = self.watch.finished(case)
        if case.corpus is not None and result.tally is not None and benchmark.whole_text:
            self.sizes[case.corpus] = result.tally.bytes
        expected = foretold(case, self.sizes) if result.status == "ok" else None
        if expected is not None:
            self.all.add(spent, expected)
        self.cases += 1
        if result.status == "ok":
            self.by_benchmark.setdefault(case.benchmark, Spent()).add(spent, expected or 1.0)
        if self.todo and (seconds := self.left()) is not None:
            self.listener.remaining(seconds)
        self.listener.finished(result)

    def left(self) -> float | None:
        """Return the estimated seconds left; None if it is too early, or a benchmark has neither rate nor "ok" case."""
        if self._share() < LEAST_SHARE:
            return None
        usual = self.all.seconds / self.all.expected if self.all.expected else 1.0
        total = 0.0
        for case in self.todo.values():
            expected, spent = foretold(case, self.sizes), self.by_benchmark.get(case.benchmark)
            if expected is None and spent is None:
                return None
            seconds = spent.seconds / spent.cases if expected is None and spent else 0.0
            if expected is not None:
                seconds = expected * (spent or Spent()).factor(usual)
            total += seconds / (1 if benchmarks()[case.benchmark].timed else self.side_by_side)
        return total

    def _share(self) -> float:
        """Return the share of the estimated work that is done; at most that of cases if one left has no estimate."""
        rest = [foretold(case, self.sizes) for case in self.todo.values()]
        of_cases = self.cases / (self.cases + len(rest))
        if None not in rest:
            of_cases = 1.0
        total = self.all.expected + sum(filter(None, rest))
        return min(of_cases, self.all.expected / total if total else 1.0)


_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(s|min|m|h)", re.ASCII)
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class TimeLimitReached(Exception):
    """The time limit is over, so no turn may begin."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time after which a run begins no case and no turn of one."""

    at: float  # of time.monotonic()
    limit: str  # as it was given

    @classmethod
    def after(cls, limit: str) -> Deadline:
        """Set a limit from now on, such as ``90s``, ``10m`` or ``1.5h``; raise ``InputError`` for any other text."""
        match = _TIME.fullmatch(limit)
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not seconds:
            raise InputError(f"time limit {limit!r} is not a time: write a number above 0 with s, m or h, such as 10m")
        return cls(time.monotonic() + seconds, limit)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.at
