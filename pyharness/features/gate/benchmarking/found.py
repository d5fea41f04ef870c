"""Benchmarks that were found in the arms' own tests: what is known of them is what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyharness.features.gate.types import GateBenchmark, Rounds
from pyharness.statistics.samples import median

WORKLOAD = "pytest"
SEVERAL_THREADS = 1.1  # processor time / wall time: more than one thread can have spent
MOSTLY_WAITING = 0.2  # below: for a child process, a disk, a timer; a busy machine halves the ratio, and no more
UNLIKE = 1.3  # times by which the ratios of the sides may differ: they take turns on one machine, busy or not


def found(rounds: Sequence[Rounds], unmeasured: Iterable[str], library: str) -> tuple[GateBenchmark, ...]:
    """Describe what was measured, then what was not: refused, or not come to in time.

    Work of one thread is judged by processor time, which neighbours hardly disturb. Where that would miss the work,
    since several threads share it or it is done elsewhere, wall time is what counts: two threads are said to do it.
    One side of which that is true is enough, and so are sides that wait unlike each other.
    """
    threads: dict[str, int] = {}
    for part in rounds:
        threads.setdefault(part.benchmark, 1 if _one_thread(part) else 2)
    names = dict.fromkeys((*threads, *unmeasured))
    return tuple(GateBenchmark(name, WORKLOAD, library, text="", threads=threads.get(name, 1)) for name in names)


def _one_thread(part: Rounds) -> bool:
    """Whether processor time is the time of the work, on both sides."""
    low, high = sorted(median([timing.cpu / max(timing.wall, 1) for timing in side]) for side in (part.base, part.head))
    return low >= MOSTLY_WAITING and high <= min(SEVERAL_THREADS, UNLIKE * low)
