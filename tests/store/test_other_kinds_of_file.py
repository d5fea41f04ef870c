"""What is no file, given where a record or a suite is read: one line, exit status 2, and nothing waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyharness.cli import main

KINDS = ("/", ".", "", "folder", "none", "pipe", "/dev/null", "binary")


@pytest.fixture(autouse=True)
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "command",
    [
        "report|?", "report|?|-o|x.html", "report|?|--format|html|-o|x.html", "report|?|--rederive",
        "report|?|?|--format|html", "compare|?|a|b", "compare|?|binary|-o|x", "run|?|--dry-run",
    ],
)  # fmt: skip
def test_it_is_one_line(kind: str, command: str, arena: Path) -> None:
    done = CliRunner().invoke(main, [kind if part == "?" else part for part in command.split("|")])
    assert done.exit_code == 2, done.output
    assert done.output.count("\n") <= 2, "and a hint of how to ask for help, at most"
    assert isinstance(done.exception, SystemExit)
    assert sorted(path.name for path in arena.iterdir()) == ["binary", "folder", "pipe"]
