"""Stand-in of ``pyharness`` whose gates are made up: a commit's file ``level`` is the logarithm of its time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]
from gating.histories import made_gate  # noqa: E402 -- the path above has it
from pyharness.cli import main  # noqa: E402
from pyharness.features.gate import commands  # noqa: E402
from pyharness.features.gate.session import GateRequest  # noqa: E402
from pyharness.features.gate.types import Gate, GateVerdict  # noqa: E402


def git(*arguments: str) -> str:
    """Run git here; empty where it fails."""
    return subprocess.run(["git", *arguments], check=False, capture_output=True, text=True).stdout.strip()  # noqa: S607


def gate(asked: GateRequest, _: object) -> Gate:
    """Make up a gate of two revisions."""
    base, head = (git("rev-parse", f"{name}^{{commit}}") for name in (asked.base, asked.head))
    level = float(git("show", f"{head}:level") or 0) - float(git("show", f"{base}:level") or 0)
    effects, created = {"speed/test_a.py::test_encode": level}, datetime.now(UTC).isoformat()
    made = made_gate(head, effects, anchor=base, seed=int(head[:6], 16), rules=asked.rules, created=created)
    verdict = GateVerdict.REGRESSION if level > asked.rules.budget else GateVerdict.PASS
    judged = tuple(replace(one, verdict=verdict) for one in made.judgements)
    return replace(made, suite=asked.tests or "gate", judgements=judged, verdict=verdict)


commands.gate = gate  # type: ignore[assignment]
main(prog_name="pyharness")
