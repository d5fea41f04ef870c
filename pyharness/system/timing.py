"""Clocks. A lap is one call, timed by wall and by processor time, with the garbage collector out of the way."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any


@dataclass(frozen=True, slots=True)
class Lap:
    """One timed call, in nanoseconds."""

    wall: int
    cpu: int  # all threads of the process


@contextmanager
def without_collector() -> Iterator[None]:
    """Collect garbage now and not again within the block."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def lap(call: Callable[[], Any]) -> tuple[Lap, Any]:
    """Time one call; returns what it returned too, so that it can be checked."""
    with without_collector():
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        result = call()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return Lap(wall, cpu), result


def quick_laps(calls: Sequence[Callable[[], Any]]) -> list[tuple[int, Any]]:
    """Wall time in nanoseconds of each of many short calls, and what they returned; one collection for all."""
    clock = time.perf_counter_ns
    laps = []
    with without_collector():
        for call in calls:
            start = clock()
            result = call()
            laps.append((clock() - start, result))
    return laps


class Stopwatch:
    """Adds up the wall time spent inside ``with`` blocks; a block within a block is not counted twice.

    ``beside`` is entered before the clock starts and left after it stops: another meter of the same blocks.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.beside: AbstractContextManager[object] = nullcontext()
        self._depth = 0
        self._started = 0.0

    def __enter__(self) -> None:
        if self._depth == 0:
            self.beside.__enter__()
            self._started = time.perf_counter()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started
            self.beside.__exit__(None, None, None)


in_libraries = Stopwatch()  # what tokenizer libraries take to build a tokenizer, without our checks of its file


# ---------------------------------------------------------------------------------------------- when to stop


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a series of timings is long enough.

    At least ``min_samples`` samples that take ``min_seconds`` together; then as soon as the noise is at most
    ``max_noise``, or has settled above it: a machine that is noisy by nature never gets there. Whoever takes the
    samples ends a series at ``max_seconds`` in any case.

    Source: ``nvbench/detail/stdrel_criterion.cxx`` of NVIDIA's nvbench, whose 5 % are kept; its window has 64 to 512.
    """

    min_samples: int = 10
    min_seconds: float = 0.5
    max_noise: float = 0.005
    max_seconds: float = 15.0
    window: int = 64
    settled: float = 0.05


@dataclass(slots=True)
class Series:
    """Timings in seconds, in order, with the running figures that the rule asks for: constant work per sample."""

    rule: StoppingRule = field(default_factory=StoppingRule)
    samples: list[float] = field(default_factory=list)
    _mean: float = 0.0
    _squares: float = 0.0  # sum of squared distances from the mean (Welford)
    _noises: deque[float] = field(default_factory=deque)

    def add(self, seconds: float) -> None:
        """Take one more sample."""
        self.samples.append(seconds)
        distance = seconds - self._mean
        self._mean += distance / len(self.samples)
        self._squares += distance * (seconds - self._mean)
        self._noises.append(self.noise)
        if len(self._noises) > self.rule.window:
            self._noises.popleft()

    @property
    def noise(self) -> float:
        """Standard deviation over mean; infinite below two samples, whose spread says nothing."""
        if len(self.samples) < 2:
            return inf
        return sqrt(self._squares / (len(self.samples) - 1)) / self._mean if self._mean > 0 else 0.0

    @property
    def enough(self) -> bool:
        """Whether the rule lets the series end here."""
        count = len(self.samples)
        if count < self.rule.min_samples or self._mean * count < self.rule.min_seconds:
            return False
        return self.noise <= self.rule.max_noise or self._has_settled()

    def _has_settled(self) -> bool:
        if len(self._noises) < self.rule.window:
            return False
        spread = sum((noise - self.noise) ** 2 for noise in self._noises) / len(self._noises)
        return sqrt(spread) < self.rule.settled * self.noise


def noise(samples: Sequence[float]) -> float | None:
    """Standard deviation over mean; None below two samples."""
    series = Series()
    for sample in samples:
        series.add(sample)
    return series.noise if len(samples) > 1 else None


# ---------------------------------------------------------------------------------------------- statistics


def median(values: Sequence[float]) -> float:
    """Middle of the sorted values."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """Smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Interval of the median from order statistics, at least 95 %; None below six values (no such pair exists)."""
    count = len(values)
    ordered = sorted(values)
    outside = 0.5**count  # P(fewer than k+1 of n fair coins fall below the median), k = 0
    term, k = outside, 0
    if outside > 0.025:
        return None
    while outside + term * (count - k) / (k + 1) <= 0.025:
        term *= (count - k) / (k + 1)
        k += 1
        outside += term
    return ordered[k], ordered[count - 1 - k]
