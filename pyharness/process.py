"""A worker process as its parent sees it: ask it for a case, wait, and say how it died."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import IO, Any

POLL_SECONDS = 0.25


class WorkerDied(Exception):
    """The worker process ended or was ended."""


class Worker:
    """One worker process and its pipes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pyharness.worker"],  # -P: nothing in the current folder shadows a library
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
            encoding="utf-8",
            env=os.environ | _thread_limits(threads),
            start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers
        )
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 -- a pipe was asked for
        for line in self.process.stdout:
            try:
                self.messages.put(json.loads(line))
            except json.JSONDecodeError:
                break
        self.messages.put(None)

    def ask(self, request: dict[str, Any], time_limit: float, progress: Callable[[int], None]) -> dict[str, Any]:
        """Send a case and wait for its result; raises ``WorkerDied`` with the reason."""
        assert self.process.stdin is not None  # noqa: S101 -- a pipe was asked for
        deadline = time.monotonic() + time_limit
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise WorkerDied(self._post_mortem()) from None
        while True:
            if time.monotonic() > deadline:
                self.close()
                raise WorkerDied(f"no result within the time limit of {time_limit:g} s")
            try:
                message = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                raise WorkerDied(self._post_mortem())
            if "progress" in message:
                progress(message["progress"])
                continue
            return message

    def _post_mortem(self) -> str:
        try:
            status = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # it closed its output and lives on
            return "the process stopped answering"
        self.stderr.seek(0)
        lines = [
            line.strip() for line in self.stderr.read()[-4000:].decode(errors="replace").splitlines() if line.strip()
        ]
        ending = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"the process {ending}" + (f": {lines[-1][:200]}" if lines else "")

    def close(self) -> None:
        """End the process and whatever it has started: they are one group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.stderr.close()


def _thread_limits(threads: int) -> dict[str, str]:
    count = str(threads)
    return {
        "RAYON_NUM_THREADS": count,
        "OMP_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads would steal the core of whoever is timed next
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
