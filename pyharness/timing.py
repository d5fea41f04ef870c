"""Clocks. A lap is one call, timed by wall and by processor time, with the garbage collector out of the way."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Lap:
    """One timed call, in nanoseconds."""

    wall: int
    cpu: int  # all threads of the process


def lap(call: Callable[[], Any]) -> tuple[Lap, Any]:
    """Time one call; returns what it returned too, so that it can be checked."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        result = call()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    finally:
        if was_enabled:
            gc.enable()
    return Lap(wall, cpu), result


def quick_laps(calls: Sequence[Callable[[], Any]]) -> list[tuple[int, Any]]:
    """Wall time in nanoseconds of each of many short calls, and what they returned; one collection for all."""
    clock = time.perf_counter_ns
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        laps = []
        for call in calls:
            start = clock()
            result = call()
            laps.append((clock() - start, result))
    finally:
        if was_enabled:
            gc.enable()
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
