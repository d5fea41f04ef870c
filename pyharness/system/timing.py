"""Clocks. A lap is one call, timed by wall and by processor time, without garbage collection."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Lap:
    """One timed call, in nanoseconds."""

    wall: int
    cpu: int  # all threads of the process


@contextmanager
def without_collector() -> Iterator[None]:
    """Collect garbage now and not again within the block.

    What is left is never visited again: with a vocabulary in memory, a collection takes as long as a timed call.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def lap(call: Callable[[], Any]) -> tuple[Lap, Any]:
    """Time one call; return the lap and the call's result, so that it can be checked."""
    with without_collector():
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        result = call()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return Lap(wall, cpu), result


def quick_laps(calls: Sequence[Callable[[], Any]]) -> list[tuple[int, Any]]:
    """Return wall time in nanoseconds and result of each of many short calls; one collection for all."""
    clock = time.perf_counter_ns
    laps = []
    with without_collector():
        for call in calls:
            start = clock()
            result = call()
            laps.append((clock() - start, result))
    return laps
