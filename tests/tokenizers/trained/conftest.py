"""A cache of its own for every test, and a text to train on."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.trained_rows import TEXT
from pyharness.tokenizers.training import process as training_process
from pyharness.tokenizers.training import recipe as training_recipe


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
