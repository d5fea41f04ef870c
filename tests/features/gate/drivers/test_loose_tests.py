"""Tests that are in no checkout: what is copied of them, and what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyharness.features.gate.drivers import project_tests
from pyharness.types import InputError


def project(folder: Path) -> Path:
    (folder / "tests").mkdir(parents=True)
    for name in ("test_speed.py", "conftest.py", "letters.txt", "tests/test_more.py"):
        (folder / name).write_text(name)
    return folder


def test_of_a_file_only_it_and_what_configures_it_are_copied(tmp_path: Path) -> None:
    around, room = project(tmp_path / "home"), tmp_path / "home" / "temporary"
    room.mkdir()
    copied = project_tests._loose(around / "test_speed.py", room)
    assert sorted(path.name for path in copied.iterdir()) == ["conftest.py", "test_speed.py"]


def test_of_a_folder_all_is_copied(tmp_path: Path) -> None:
    around, room = project(tmp_path / "home"), tmp_path / "room"
    room.mkdir()
    copied = project_tests._loose(around, room)
    names = {str(path.relative_to(copied)) for path in copied.rglob("*") if path.is_file()}
    assert names == {"test_speed.py", "conftest.py", "letters.txt", "tests/test_more.py"}


def test_a_folder_that_holds_the_temporary_one_is_refused(tmp_path: Path) -> None:
    room = project(tmp_path / "home") / "room"
    room.mkdir()
    with pytest.raises(InputError, match=rf"--pytest '{re.escape(str(tmp_path / 'home'))}' .*temporary"):
        project_tests._loose(tmp_path / "home", room)
    assert not list(room.iterdir())


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_tests, "MOST_BYTES", 20)
    room = tmp_path / "room"
    room.mkdir()
    with pytest.raises(InputError, match="more than 20 bytes"):
        project_tests._loose(project(tmp_path / "home"), room)
