"""The planted project: its commits are what the study says, and an interrupted run goes on in it."""

from __future__ import annotations

from pathlib import Path

from gating.small_project import git
from planted_history import BACK, BROKEN, COMMITS, COST, DRIFT, OTHER_IDS, STEP, code_of, written


def test_commits_are_as_planted(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    commits = written(folder)
    assert len(commits) == COMMITS
    assert written(folder) == commits
    changed = [number for number in range(1, COMMITS) if code_of(number) != code_of(number - 1)]
    assert changed == sorted({STEP, BACK, OTHER_IDS, *DRIFT})
    assert "broken" in git(folder, "show", f"{commits[BROKEN]}:backend.py")
    assert code_of(0) == code_of(STEP, planted=False)
    assert int(code_of(COMMITS - 1).split("spend(")[3].partition(")")[0]) > COST * 1.04
