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
from pyharness.running.workers import process, worker
from pyharness.running.workers.messages import Request


class Here:
    """A worker in this process."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def ask(self, request: bytes, is_news: Callable[[Any], bool], deadline: float) -> tuple[bytes, Any]:
        answer = json.dumps(worker.handle(Request.from_json(json.loads(request)), io.StringIO()))
        return answer.encode(), json.loads(answer)

    def close(self) -> None:
        pass


def run_here(output: Path, **arguments: Any) -> store.Record:
    """``pyharness.run`` with such a worker; the record is kept at ``output``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "Child", Here)
        return pyharness.run(output=output, **arguments).record
