"""Benchmarks that were found in the arms' own tests: what is known of them is what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyharness.statistics.samples import median
from pyharness.types import GateBenchmark, Rounds

WORKLOAD = "pytest"
SEVERAL_THREADS = 1.1  # processor time / wall time: more than one thread can have spent
MOSTLY_WAITING = 0.2  # below: for a child process, a disk, a timer; a busy machine halves the ratio, and no more


def found(rounds: Sequence[Rounds], refused: Iterable[str], library: str) -> tuple[GateBenchmark, ...]:
    """Describe what was measured, then what was refused.

    Work of one thread is judged by processor time, which neighbours hardly disturb. Where that would miss the work,
    since several threads share it or it is done elsewhere, wall time is what counts: two threads are said to do it.
    """
    threads: dict[str, int] = {}
    for part in rounds:
        ratio = median([timing.cpu / timing.wall for timing in (*part.base, *part.head)])
        threads.setdefault(part.benchmark, 1 if MOSTLY_WAITING <= ratio <= SEVERAL_THREADS else 2)
    names = dict.fromkeys((*threads, *refused))
    return tuple(GateBenchmark(name, WORKLOAD, library, text="", threads=threads.get(name, 1)) for name in names)
