"""Records with states, edited and asked to be derived again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from pyharness import suite
from pyharness.cli import main

STATE = "record.json.state.zip"


def asked(folder: Path, *arguments: str) -> Result:
    answer = CliRunner().invoke(main, ["report", str(folder / "record.json"), "--rederive", *arguments])
    assert not isinstance(answer.exception, Exception), answer.output
    return answer


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "record.json"
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


def plan(row: str = "raw_bytes", *names: str) -> suite.Plan:
    return suite.plan(suite.declare([row], ["sample:prose"], names or ["compression", "integrity"]))
