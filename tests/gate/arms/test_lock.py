"""One gate at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyharness.gate.arms.lock import alone, place
from pyharness.types import InputError


def test_a_second_gate_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with alone(path=path) as notes:
        assert notes == ()
        with pytest.raises(InputError, match=rf"\(process {os.getpid()}, since 2\d\d\d-.*--force"), alone(path=path):
            pass
        with alone(path=path, force=True) as said:
            assert said[0].startswith("another gate ran on this machine at the time (process ")
        with pytest.raises(InputError), alone(path=path):  # one that was forced lets go of nothing
            pass
    with alone(path=path) as notes:
        assert notes == ()


def test_a_link_that_somebody_has_planted_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), alone(path=tmp_path / "lock"):
        pass


def test_the_place_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = place()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert place() == before
