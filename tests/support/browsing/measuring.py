"""Runs whose cases are measured in this process, which has imported what takes seconds to import."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyharness
from pyharness import store
from pyharness.running.workers import pool, worker
from pyharness.running.workers.request import Request


class Here:
    """A worker in this process."""

    def __init__(self, threads: int, *_: Any) -> None:
        self.threads = threads

    def ask(self, request: dict[str, Any], time_limit: float, progress: Callable[[int], None]) -> Any:
        return json.loads(json.dumps(worker.handle(Request.from_json(json.loads(json.dumps(request))), io.StringIO())))

    def close(self) -> None:
        pass


def run_here(output: Path, **arguments: Any) -> store.Record:
    """``pyharness.run`` with such a worker; the record is kept at ``output``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "Worker", Here)
        return pyharness.run(output=output, **arguments).record
