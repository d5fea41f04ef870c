"""Specs of rows that are trained, trainers that are planted, and what a trainer is asked."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pyharness.features.training import recipe as training_recipe
from pyharness.features.training import trainers, training_process
from pyharness.features.training.trainers import TrainingRequest

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


_OF_REQUEST = {field.name for field in dataclasses.fields(TrainingRequest)}


def asked(trainer: str, **values: Any) -> TrainingRequest[Any]:
    """A request, whose options are all values that are none of its own."""
    options = {name: value for name, value in values.items() if name not in _OF_REQUEST}
    own = {name: value for name, value in values.items() if name in _OF_REQUEST}
    return TrainingRequest(options=trainers.options_of(trainer, **options), **own)
