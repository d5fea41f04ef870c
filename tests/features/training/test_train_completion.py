"""Shells complete the trainers of ``pyharness train``, and the corpora that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.command_line import completed
from pyharness.features.training import trainers


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))


def test_names_of_trainers_and_of_their_corpora() -> None:
    assert set(completed("train", "")) == {*trainers.specs(), *trainers.trainings()}
    assert completed("train", "bpe", "-c", "instal") == completed("run", "-c", "instal") != []
