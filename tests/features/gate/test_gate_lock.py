"""One gate at a time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pyharness.features.gate.commands import alone, lock_place
from pyharness.types import InputError


def test_a_second_gate_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with alone(path=path) as notes:
        assert notes == ()
        with pytest.raises(InputError, match=rf"\(process {os.getpid()}, since 2\d\d\d-.*--force"), alone(path=path):
            pass
        with alone(path=path, force=True) as said:
            assert re.match(rf"another gate .*\(process {os.getpid()}, since 2\d\d\d-", said[0])
        with pytest.raises(InputError), alone(path=path):  # one that was forced lets go of nothing
            pass
    with alone(path=path) as notes:
        assert notes == ()


def test_a_link_that_somebody_has_planted_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic links"), alone(path=tmp_path / "lock"):
        pass


def test_the_place_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = lock_place()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert lock_place() == before


def test_a_lock_is_everybodys_whatever_the_umask(tmp_path: Path) -> None:
    path, before = tmp_path / "lock", os.umask(0o077)
    try:
        with alone(path=path):
            assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be opened"), alone(path=path):
        pass
    assert not (tmp_path / "elsewhere").exists()
