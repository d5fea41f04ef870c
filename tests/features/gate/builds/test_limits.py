"""Builds that never end are ended, with all that they have started, and the message says whose it was."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from gating import small_project
from gating.arms import prepared
from pyharness.features.gate.builds import arms, checkouts, workshop
from pyharness.features.gate.builds.workshop import NotBuilt
from pyharness.system import program
from pyharness.types import InputError

SLEEPING = "import time\n\ndef build_wheel(*_, **__):\n    time.sleep(600)\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("CXX", "no-such-compiler")
    small_project.write(tmp_path / "project", backend=SLEEPING)
    small_project.commit(tmp_path / "project")
    return tmp_path / "project"


SLOW = """import time
from pyharness.types import InputError, TokenizerFamily

def prepare(argument, *_):
    if argument == "refused":
        raise InputError("there is none")
    time.sleep(600)

FAMILIES = (TokenizerFamily("slow", print, "summary", "slow:x", prepare=prepare),)
"""


def failing(project: Path) -> str:
    with pytest.raises(program.OutOfTime) as ended, prepared("HEAD", "HEAD", folder=project, isolated=False):
        pass
    return str(ended.value)


def test_a_build_has_a_limit_where_nobody_sets_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program.LONGEST_SECONDS == 3600
    monkeypatch.setattr(program, "LONGEST_SECONDS", 3.0)
    said = failing(project)
    assert re.search(r"time ran out .*base 'HEAD' was built: .*\b3 s, .*\b0 minutes", said)


TALKING = """import sys

def build_wheel(*_, **__):
    for _ in range(20):
        sys.stderr.write("word " * 200_000 + "\\n")
    raise RuntimeError("planted")
"""


def test_a_build_that_says_too_much(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_project.write(project, backend=TALKING)
    small_project.commit(project)
    monkeypatch.setattr(program, "MOST_SAID", 16 << 20)
    said = "base 'HEAD' does not build: pip wrote more than 16,777,216 bytes"
    with pytest.raises(NotBuilt, match=said) as error, prepared("HEAD", "HEAD", folder=project, isolated=False):
        pass
    assert error.value.log.stat().st_size == 4 << 20


ENDLESS = """import sys

def build_wheel(*_, **__):
    while True:
        sys.stdout.write("word " * 20_000{end})
"""


@pytest.mark.parametrize("end", ["", ' + "\\n"'])
def test_a_build_that_speaks_without_end_does_not_fill_the_memory(
    project: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """pip keeps all that a build says until it ends."""
    small_project.write(project, backend=ENDLESS.format(end=end))
    small_project.commit(project)
    monkeypatch.setitem(workshop.MOST_HELD, "build", 200_000_000)
    said = "base 'HEAD' does not build: pip used more than 200,000,000 bytes"
    with program.until(time.monotonic() + 60), pytest.raises(NotBuilt, match=said):
        prepared("HEAD", "HEAD", folder=project, isolated=False).__enter__()


def test_an_export_that_hangs_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".gitattributes").write_text("* filter=slow\n", encoding="utf-8")
    small_project.commit(project)
    monkeypatch.setattr(checkouts, "QUIET", (*checkouts.QUIET, "-c", "filter.slow.smudge=sleep 600"))
    with program.until(time.monotonic() + 3):
        assert re.match("time ran out .*base 'HEAD' was exported: 'git' ", failing(project))


def test_a_tokenizer_that_is_fetched_or_trained_has_the_gates_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "slow")
    assert arms._obtain("base", "raw_bytes") == "raw_bytes"
    with pytest.raises(InputError, match="there is none"):
        arms._obtain("base", "slow:refused")
    with program.until(time.monotonic() + 5), pytest.raises(program.OutOfTime, match="'slow:x' was downloaded or"):
        arms._obtain("base", "slow:x")
