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
from pyharness.store.json_values import from_json


class Here:
    """A worker in this process."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def ask(self, request: bytes, is_news: Callable[[Any], bool], deadline: float) -> tuple[bytes, Any]:
        worker.serve(from_json(Request, json.loads(request), "request"), out := io.StringIO())
        return next(
            (line.encode(), said) for line in out.getvalue().splitlines() if not is_news(said := json.loads(line))
        )

    def close(self) -> None:
        pass


def run_here(output: Path, **arguments: Any) -> store.Record:
    """``pyharness.run`` with such a worker; the record is kept at ``output``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "Child", Here)
        return pyharness.run(output=output, **arguments).record
