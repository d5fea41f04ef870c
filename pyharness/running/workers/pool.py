"""Workers of a run, one at a time: it serves rows of one library, and is replaced for every case that is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyharness.benchmarks import benchmarks
from pyharness.running.workers import answers
from pyharness.running.workers.process import Worker, WorkerDied
from pyharness.running.workers.request import Request
from pyharness.suite import Suite
from pyharness.system.child_process import default_memory_limit
from pyharness.system.environment import cores
from pyharness.system.threads.lanes import Stopped
from pyharness.types import Case, TokenizerSpec


def threads_of(case: Case, side_by_side: int = 1) -> int:
    """Threads that a case runs on: as it says, else one where it is timed, else its part of all cores."""
    return int(case.parameters.get("threads", 1 if benchmarks()[case.benchmark].timed else cores() // side_by_side))


class Workers:
    """Starts workers, asks them, and ends them.

    Rows of one library follow each other in one process: to start another takes longer than many a case. What fails
    in a process that has served another row before, or ends it, is tried again in a fresh one: the other may have left
    it without file handles, or its library in a bad state, and a row pays for itself alone.

    Args:
        suite: its limits.
        rows: by label.
        temporary: what workers and their libraries leave behind.
        side_by_side: how many of these there are; they share the memory.
    """

    def __init__(self, suite: Suite, rows: Mapping[str, TokenizerSpec], temporary: Path, side_by_side: int = 1) -> None:
        self.suite, self.rows, self.temporary, self.side_by_side = suite, rows, temporary, side_by_side
        self._worker: Worker | None = None
        self._served: list[str] = []  # rows that the worker has been asked for
        self._fresh_next = False
        self._stopped = False

    def ask(self, request: Request, progress: Callable[[int], None]) -> dict[str, Any]:
        """Answer of a worker to a request; raises ``WorkerDied``, or ``Stopped`` after ``stop``."""
        try:
            answer = self._for(request).ask(request.as_json(), self.suite.time_limit_seconds, progress)
            if not answers.has_failed(answer) or self._has_served_it_alone(request):
                return answer
        except WorkerDied:
            if self._stopped:
                raise Stopped from None
            if self._has_served_it_alone(request):
                raise
        self.leave()
        return self.ask(request, progress)

    def _has_served_it_alone(self, request: Request) -> bool:
        return set(self._served) == {request.case.tokenizer}

    def _for(self, request: Request) -> Worker:
        timed, worker = benchmarks()[request.case.benchmark].timed, self._worker
        if timed or worker is None or not self._goes_on(request) or worker.threads != request.threads:
            self.leave()
            self.temporary.mkdir(exist_ok=True)
            self._worker = worker = Worker(request.threads, self._memory_limit(), self.temporary)
        self._served.append(request.case.tokenizer)
        self._fresh_next = timed
        return worker

    def _goes_on(self, request: Request) -> bool:
        libraries = {self.rows[row].library for row in (request.case.tokenizer, *self._served)}
        return not self._fresh_next and len(libraries) == 1

    def _memory_limit(self) -> int | None:
        limit = default_memory_limit() if self.suite.memory_limit is None else None
        return self.suite.memory_limit if limit is None else limit // self.side_by_side

    def stop(self) -> None:
        """Let what is asked end now, from another thread."""
        self._stopped = True
        if (worker := self._worker) is not None:
            worker.child.process.kill()

    def leave(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.close()
        self._worker, self._served = None, []
