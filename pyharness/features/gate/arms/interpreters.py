"""What an arm's interpreter says of what is installed for it: one way to ask, within the gate's time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pyharness.features.gate.sources import variables
from pyharness.features.gate.types import Side
from pyharness.system import program
from pyharness.types import InputError

ANSWER_SECONDS = 300.0  # on a cold disk an interpreter takes some
T = TypeVar("T")


def said(
    side: Side,
    asked: str,
    command: tuple[Path, str, *tuple[str, ...]],
    read: Callable[[Any], T],
    problem: str,
    environment: Mapping[str, str] | None = None,
) -> T:
    """Run a script that prints JSON, and read what it says.

    Args:
        side: whose interpreter it is.
        asked: what this side was asked for as.
        command: the interpreter, the script, and its arguments.
        read: makes the answer of the JSON; raises where the answer has another shape.
        problem: what it is called when there is no answer.
        environment: variables that it gets, where what is installed depends on them.

    Raises:
        InputError: it does not answer, or answers otherwise than in this shape.
        OutOfTime: not in time (``program.until``).
    """
    python, script, *arguments = command
    alone = ["-I"] if environment is None else ["-P", "-s"]
    given = variables.for_processes(os.environ, 1, here=False) if environment is None else environment
    ran = program.run([str(python), *alone, "-c", script, *arguments], given, seconds=ANSWER_SECONDS)
    try:
        return read(json.loads(ran.output))
    except (ValueError, TypeError, AttributeError, RecursionError):
        lines = ran.complaints.strip().splitlines() or [f"it ended with status {ran.status}"]
        raise InputError(f"--{side} {asked!r}: {problem}: {lines[-1][:300]}") from None
