"""The nightly workflow of docs/history.md, played: gates are made up, all else is what it is."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gating.leveled import STAND_IN, commit_level, leveled_project
from gating.small_project import git
from workflows.github import GitHub, served
from workflows.playing import Runner

ROOT = Path(__file__).parents[3]
PYHARNESS = '#!/bin/sh\nexec {python} -P {stand_in} "$@"\n'
PYTHON = '#!/bin/sh\necho "pip $*"\n'
NIGHTS = 20  # before the first that is played


@pytest.fixture(scope="module")
def workflow() -> str:
    text: str
    (text,) = re.findall(
        r"```yaml\n(name: History\n.*?)```", (ROOT / "docs" / "history.md").read_text("utf-8"), re.DOTALL
    )
    return text


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A project whose commits have levels; 0 is the anchor."""
    folder = leveled_project(tmp_path / "origin", NIGHTS, NIGHTS // 2)
    git(folder, "tag", "v1.0", f"HEAD~{NIGHTS - 1}")
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {"python": PYTHON, "pyharness": PYHARNESS}.items():
        (folder / name).write_text(text.format(python=sys.executable, stand_in=STAND_IN), encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def github() -> Iterator[GitHub]:
    with served(GitHub()) as github:
        yield github


def played(
    folder: Path, run: int, github: GitHub, origin: Path, programs: Path, workflow: str, attempt: int = 1
) -> tuple[bool, Runner]:  # fmt: skip
    machine = folder / f"machine-{run}-{attempt}"
    runner = Runner(
        github, origin, machine, "schedule", {}, "refs/heads/main", run, False, (programs,), attempt=attempt
    )  # fmt: skip
    runner.folder.mkdir()
    (runner.folder / "history.yml").write_text(workflow, encoding="utf-8")
    return runner.play(runner.folder / "history.yml"), runner


def artifact(github: GitHub, run: int) -> dict[str, bytes]:
    ((_, archive),) = github.artifacts[run].values()
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_nights_share_a_history_and_one_that_confirms_is_red(
    tmp_path: Path, workflow: str, origin: Path, programs: Path, github: GitHub
) -> None:
    passed, first = played(tmp_path, 1, github, origin, programs, workflow)
    assert not passed
    assert artifact(github, 1).keys() >= {"history.db", "history.html", "comment.md", "junit.xml"}
    _fill(first.folder / "cached", origin, programs)
    passed, night = played(tmp_path, 2, github, origin, programs, workflow)
    kept = artifact(github, 2)
    assert not passed
    assert kept["comment.md"].startswith(b"**Confirmed: 1 figure grew")
    assert b"<failure" in kept["junit.xml"]
    assert b"Confirmed" in (night.folder / "summary.md").read_bytes()
    commit_level(origin, 0.0, "taken back")
    for number in range(10):
        commit_level(origin, 0.0, f"later {number}")
    _fill(night.folder / "cached", origin, programs)
    passed, third = played(tmp_path, 3, github, origin, programs, workflow)
    assert passed, (third.folder / "output.txt").read_text(encoding="utf-8")
    assert artifact(github, 3)["comment.md"].startswith(b"**Nothing is suspected")


def _fill(cached: Path, origin: Path, programs: Path) -> None:
    """Measure all revisions between the nights that are played."""
    fill = ["history", "fill", "--anchor", "v1.0", "v1.0..main", "--pytest", "speed"]
    fill += ["--db", str(cached / "history.db")]
    subprocess.run([str(programs / "pyharness"), *fill], cwd=origin, check=True, capture_output=True)


def test_a_gate_that_cannot_compare_ends_the_night_and_the_history_stays(
    tmp_path: Path, workflow: str, origin: Path, programs: Path, github: GitHub
) -> None:
    git(origin, "tag", "--delete", "v1.0")
    (programs / "pyharness").write_text('#!/bin/sh\n[ "$1" != gate ] || exit 2\n', encoding="utf-8")
    passed, runner = played(tmp_path, 1, github, origin, programs, workflow)
    assert not passed
    assert any("history add" in line and line.endswith("skipped") for line in runner.log)
    played(tmp_path, 1, github, origin, programs, workflow, attempt=2)
    assert len(github.caches) == 2  # what a run keeps when it is tried again is not lost
