"""Writing that stops half-way: what was there before stays."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

OLD = "what was there before"
STEPS = ("fsync", "replace")


def check_interrupted(path: Path, write: Callable[[], object], old: bool, step: str) -> None:
    """An interruption at a step of writing leaves the file as it was, or no file; nothing else is in its folder."""
    if old:
        path.write_text(OLD, encoding="utf-8")
    seen: list[str] = []

    def interrupted(*_: object) -> None:
        seen.extend(file.name for file in path.parent.iterdir() if file != path)
        raise KeyboardInterrupt

    owner: object = os if step == "fsync" else Path
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            write()
    assert len(seen) == 1, "it was written aside, in the same folder"
    assert [file.name for file in path.parent.iterdir()] == ([path.name] if old else [])
    assert not old or path.read_text(encoding="utf-8") == OLD


def check_on_full_disk(path: Path, write: Callable[[], object]) -> None:
    """On a full disk, the file stays as it was, and nothing else is in its folder."""
    path.write_text(OLD, encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        write()
    assert path.read_text(encoding="utf-8") == OLD
    assert [file.name for file in path.parent.iterdir()] == [path.name]
