"""An interpreter that does not answer, or not in time, costs a line and no traceback."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from gating.arms import here
from pyharness.features.gate.builds import environments
from pyharness.features.gate.drivers import project_tests
from pyharness.system import program
from pyharness.types import InputError


def stand_in(folder: Path, does: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!{sys.executable} -S\nimport time\n{does}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def ask_all(python: Path) -> None:
    arm = here(python.parent, python=python)
    with pytest.raises((InputError, program.OutOfTime)) as first:
        environments.contents("head", "mine", python)
    with pytest.raises((InputError, program.OutOfTime)) as second:
        environments.check_different({"base": python, "head": python}, {"base": "mine", "head": "mine"}, "tinytok")
    with pytest.raises((InputError, program.OutOfTime)) as third:
        project_tests.provided("tinytok", {"base": arm})
    raise ExceptionGroup("all", [first.value, second.value, third.value])


@pytest.mark.parametrize("does", ["print('no')", "print(7)", "print('[[]] 1')", "raise SystemExit(3)"])
def test_an_answer_of_another_shape_is_one_line(tmp_path: Path, does: str) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        ask_all(stand_in(tmp_path, does))
    for refusal in caught.value.exceptions:
        assert isinstance(refusal, InputError)
        assert "\n" not in str(refusal)
        assert re.search(r"ended with status \d|has no files", str(refusal))


def test_one_that_hangs_is_ended_with_the_gates_time(tmp_path: Path) -> None:
    python, begun = stand_in(tmp_path, "time.sleep(600)"), time.monotonic()
    with pytest.raises(ExceptionGroup) as caught, program.until(begun + 1):
        ask_all(python)
    assert all(isinstance(one, program.OutOfTime) for one in caught.value.exceptions)
    assert time.monotonic() - begun < 60


def test_one_that_hangs_has_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "ANSWER_SECONDS", 0.5)
    with pytest.raises(program.OutOfTime):
        environments.contents("head", "mine", stand_in(tmp_path, "time.sleep(600)"))
