"""A worker process as its parent sees it: ask it for a case, wait, and say how it died."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyharness.system.child_process import Child, ChildDied, Overdue


class WorkerDied(Exception):
    """The worker process ended or was ended."""


class Worker:
    """One worker process."""

    def __init__(self, threads: int, memory_limit: int | None = None, temporary: Path | None = None) -> None:
        self.threads = threads
        environment = _thread_limits(threads)
        if temporary is not None:  # a worker is killed in the end: the owner of the folder clears it
            environment["TMPDIR"] = str(temporary)
        self.child = Child(
            ["pyharness.running.workers.worker"], environment=environment, memory_limit=memory_limit, asked=True
        )

    def ask(self, request: dict[str, Any], time_limit: float, progress: Callable[[int], None]) -> dict[str, Any]:
        """Send a case and wait for its result; raises ``WorkerDied`` with the reason."""
        deadline = time.monotonic() + time_limit
        try:
            self.child.tell(json.dumps(request).encode(), deadline)
            while True:
                message = self._understood(self.child.listen(deadline))
                if type(done := message.get("progress")) is not int:
                    return message
                progress(done)
        except Overdue:
            raise WorkerDied(f"no result within the time limit of {time_limit:g} s") from None
        except ChildDied as death:
            raise WorkerDied(f"the process {death}") from None

    def _understood(self, line: bytes | None) -> dict[str, Any]:
        if line is None:
            raise WorkerDied("the process ended with status 0 and without an answer")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise WorkerDied(f"the process said what is no message: {line[:80]!r}")
        return message

    def close(self) -> None:
        """End the process and all processes it has started."""
        self.child.close()


def _thread_limits(threads: int) -> dict[str, str]:
    count = str(threads)
    return {
        "RAYON_NUM_THREADS": count,
        "OMP_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads would take a core from the next case that is timed
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
