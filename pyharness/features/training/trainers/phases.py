"""Phases of a training: the time of each, the progress of the current one, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyharness.types import TrainingProgress

INTERVAL = 0.1  # seconds between two reports: a terminal draws no faster


class Phases:
    """Times phases and reports them to a listener, if there is one."""

    def __init__(self, listener: Callable[[TrainingProgress], None] | None) -> None:
        self.seconds: dict[str, float] = {}
        self._listener = listener
        self._said = 0.0

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time of a block to a phase."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - begin

    def gauge(self, phase: str, unit: str, total: int | None = None, first: int = 0) -> Callable[[int], None]:
        """Announce a phase; return a callback for the amount done, which starts at ``first``."""
        begin = self._said = time.perf_counter()
        if self._listener is not None:
            self._listener(TrainingProgress(phase, first, unit, total))

        def report(done: int) -> None:
            now = time.perf_counter()
            if self._listener is None or (now - self._said < INTERVAL and done != total):
                return
            self._said = now
            left = (now - begin) * (total - done) / (done - first) if total and done > first else None
            self._listener(TrainingProgress(phase, done, unit, total, None if left is None else max(left, 0.0)))

        return report
