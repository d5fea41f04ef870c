"""Workers of a run: one lives at a time, serves one row, and is replaced for every case that is timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyharness.benchmarks import benchmarks
from pyharness.running.workers.process import Worker
from pyharness.running.workers.request import Request
from pyharness.suite import Suite
from pyharness.system.environment import cores
from pyharness.types import Case


def threads_of(case: Case) -> int:
    """Threads that a case runs on: as it says, else one where it is timed, else all cores."""
    return int(case.parameters.get("threads", 1 if benchmarks()[case.benchmark].timed else cores()))


class Workers:
    """Starts workers, asks them, and ends them."""

    def __init__(self, suite: Suite, temporary: Path) -> None:
        self.suite = suite
        self.temporary = temporary  # what workers and their libraries leave behind
        self._worker: Worker | None = None
        self._row: str | None = None  # that the worker may go on with

    def ask(self, request: Request, progress: Callable[[int], None]) -> dict[str, Any]:
        """Answer of a worker to a request; raises ``WorkerDied``."""
        return self._for(request).ask(request.as_json(), self.suite.time_limit_seconds, progress)

    def _for(self, request: Request) -> Worker:
        timed, row = benchmarks()[request.case.benchmark].timed, request.case.tokenizer
        worker = self._worker
        if timed or worker is None or self._row != row or worker.threads != request.threads:
            self.leave()
            self.temporary.mkdir(exist_ok=True)
            self._worker = worker = Worker(request.threads, self.suite.memory_limit, self.temporary)
        self._row = None if timed else row
        return worker

    def leave(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.close()
        self._worker, self._row = None, None
