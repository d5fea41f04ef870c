"""A refusal of a training is kept whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyharness.features.training import trained_cache
from pyharness.types import InputError
from writing.half_written import STEPS, check_interrupted, check_on_full_disk


def refuse(folder: Path) -> None:
    trained_cache.RecipeFolder(folder, {"trainer": "x"}).refuse("d" * 32, "no")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
def test_an_interruption_leaves_what_was_there(tmp_path: Path, old: bool, step: str) -> None:
    check_interrupted(tmp_path / trained_cache.ENTRY, lambda: refuse(tmp_path), old, step)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    entry = tmp_path / trained_cache.ENTRY
    refuse(tmp_path)
    assert entry.stat().st_mode & 0o777 == 0o644

    def write() -> None:
        with pytest.raises(InputError, match=rf"{re.escape(str(tmp_path.parent))}.*No space left"):
            refuse(tmp_path)

    check_on_full_disk(entry, write)
