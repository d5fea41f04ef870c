"""Worker processes, from their parent's side: one serves rows of one library; a timed case has a fresh one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.benchmarks import benchmarks
from pyharness.running.workers import messages
from pyharness.running.workers.messages import CaseAnswer, Request
from pyharness.store.json_values import as_json, encoded
from pyharness.suite import Suite
from pyharness.system.child_process import Asked, Child, ChildDied, Overdue, default_memory_limit
from pyharness.system.environment import cores
from pyharness.types import Case, Failure, TokenizerSpec


class WorkerDied(Exception):
    """The worker process ended or was killed."""

    def __init__(self, reason: str, failure: Failure = Failure.CRASH) -> None:
        super().__init__(reason)
        self.failure = failure


def threads_of(case: Case, side_by_side: int = 1) -> int:
    """Return the threads of a case: the given number, or one if it is timed, or its share of all cores."""
    return int(case.parameters.get("threads", 1 if benchmarks()[case.benchmark].timed else cores() // side_by_side))


class Workers(Asked):
    """Runs workers one at a time. Rows of one library share a worker, because a start takes longer than a case.

    Args:
        suite: its limits of time and memory hold.
        rows: specifications by label.
        temporary: folder for what workers and their libraries leave behind.
        side_by_side: how many ``Workers`` there are; they share the default memory limit.
    """

    def __init__(self, suite: Suite, rows: Mapping[str, TokenizerSpec], temporary: Path, side_by_side: int = 1) -> None:
        super().__init__()
        self.suite, self.rows, self.temporary, self.side_by_side = suite, rows, temporary, side_by_side
        self._threads = 0  # of the worker there is

    def measure(self, request: Request, progress: Callable[[int], None]) -> CaseAnswer:
        """Send a request and return the answer; raise ``WorkerDied`` with the reason, or ``Stopped`` after ``stop``."""
        benchmark = benchmarks()[request.case.benchmark]
        alone = benchmark.timed and not benchmark.own_process
        if benchmark.own_process:
            self.served.clear()  # what earlier rows did to the worker does not reach the processes that it starts
        libraries = {self.rows[row].library for row in (request.case.tokenizer, *self.served)}
        if alone or len(libraries) > 1 or self._threads != request.threads:
            self.leave()
        self._threads = request.threads
        message, limit = encoded(as_json(Request, request)).encode(), self.suite.time_limit_seconds

        def ask(child: Child) -> CaseAnswer:
            beside: dict[str, Any] = {}
            hear = partial(_is_news, progress=progress, beside=beside)
            return CaseAnswer(*child.ask(message, hear, time.monotonic() + limit), beside)

        try:
            return self.ask(request.case.tokenizer, self._start, ask, messages.has_failed)
        except Overdue:
            raise WorkerDied(f"no result within the time limit of {limit:g} s", Failure.OVERDUE) from None
        except ChildDied as death:
            raise WorkerDied(f"the process {death}") from None
        finally:
            if alone:
                self.leave()

    def _start(self) -> Child:
        self.temporary.mkdir(exist_ok=True)
        limit = default_memory_limit() if self.suite.memory_limit is None else None
        return Child(
            ["pyharness.running.workers.worker"],
            # A worker is killed in the end: the owner of the folder clears what it leaves there.
            environment={
                "RAYON_NUM_THREADS": str(self._threads),
                "OMP_NUM_THREADS": str(self._threads),
                "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads would take a core from the next case that is timed
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONHASHSEED": "0",
                "TMPDIR": str(self.temporary),
            },
            memory_limit=self.suite.memory_limit if limit is None else limit // self.side_by_side,
            asked=True,
        )


def _is_news(said: Any, progress: Callable[[int], None], beside: dict[str, Any]) -> bool:
    if not isinstance(said, dict):
        raise ChildDied(f"sent an invalid message: {str(said)[:80]!r}")
    if isinstance(received := said.get("beside"), dict):
        beside.clear()  # however many there are, the last one is kept
        beside.update(received)
        return True
    if type(amount := said.get("progress")) is not int:
        return False
    progress(amount)
    return True
