"""Specs of rows that are trained, and trainers that are planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.tokenizers.training import process as training_process
from pyharness.tokenizers.training import recipe as training_recipe

TEXT = "the cat sat on the mat; the rat sat on the cat\n"


def row(path: Path, trainer: str = "tokenizers-bpe", size: int = 270, more: str = "") -> str:
    return f"trained:{trainer}?vocab_size={size}&corpus=path:{path}?split=line%26name=mine{more}"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own, and no memory of texts that earlier tests have read."""
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    training_recipe._TEXTS.clear()
    return tmp_path / "cache" / "trained"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for a training where that is not what is tested: it takes a third of a second."""
    monkeypatch.setattr(training_process, "run", training_process.train_and_keep)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT * 20, encoding="utf-8")
    return path
