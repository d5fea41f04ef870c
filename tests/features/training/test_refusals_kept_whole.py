"""A refusal of a training is kept whole or not at all."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from pyharness.features.training import trained_cache
from pyharness.types import InputError

OLD = "what was there before"


def refuse(folder: Path) -> None:
    trained_cache.RecipeFolder(folder, {"trainer": "x"}).refuse("d" * 32, "no")


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
def test_an_interruption_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool, step: str
) -> None:
    entry = tmp_path / trained_cache.ENTRY
    if old:
        entry.write_text(OLD, encoding="utf-8")
    seen: list[str] = []

    def interrupted(*_: object) -> None:
        seen.extend(file.name for file in tmp_path.iterdir() if file != entry)
        raise KeyboardInterrupt

    owner: object = os if step == "fsync" else Path
    monkeypatch.setattr(owner, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        refuse(tmp_path)
    assert len(seen) == 1, "it was written aside, in the same folder"
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ([OLD] if old else [])


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = tmp_path / trained_cache.ENTRY
    refuse(tmp_path)
    assert entry.stat().st_mode & 0o777 == 0o644
    entry.write_text(OLD, encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=rf"{re.escape(str(tmp_path.parent))}.*No space left"):
        refuse(tmp_path)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == [OLD]
