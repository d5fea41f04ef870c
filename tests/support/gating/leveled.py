"""A checkout whose commits say how slow they are, and commands in it whose gates are made of that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gating.small_project import commit, git

STAND_IN = Path(__file__).parents[1] / "workflows" / "made_levels.py"


def leveled_project(folder: Path, count: int, step: int) -> Path:
    """Make a checkout of so many commits, 6 % slower from ``step`` on, with tests in ``speed``."""
    (folder / "speed").mkdir(parents=True)
    git(folder, "init", "--quiet", "-b", "main")
    (folder / "speed" / "test_a.py").write_text("def test_encode(benchmark): benchmark(len, '')\n", encoding="utf-8")
    for number in range(count):
        commit_level(folder, 0.06 * (number >= step), f"change {number}")
    return folder


def commit_level(folder: Path, level: float, message: str) -> None:
    """Commit a revision whose time has this logarithm."""
    (folder / "level").write_text(f"{level}\n", encoding="utf-8")
    commit(folder, message)


def started_fill(project: Path, place: str, cache: Path) -> subprocess.Popen[str]:
    """Begin to fill a history of the whole line, in a process of its own."""
    count = len(git(project, "log", "--format=%H").split())
    first = f"HEAD~{count - 1}"
    arguments = ["history", "fill", "--anchor", first, f"{first}..HEAD", "--pytest", "speed"]
    environment = {**os.environ, "PYHARNESS_HISTORY": place, "PYHARNESS_CACHE": str(cache)}
    return subprocess.Popen([sys.executable, "-P", str(STAND_IN), *arguments], cwd=project, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
