"""The comparison of PickyBPE and BPE-knockout with their authors' code: it sees a difference where there is one."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from pyharness.bpe import TextSplitter, WeightedPieces, model_of_training, train
from pyharness.features.paper_trainers.knockout import events_of
from pyharness.features.paper_trainers.picky import model_of
from pyharness.features.paper_trainers.picky_training import PickyTraining

STUDIES = Path(__file__).parents[1]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(STUDIES))
    from boards import event_trainers

    return event_trainers


def test_another_token_is_seen(study: ModuleType) -> None:
    training = PickyTraining(WeightedPieces.of_bytes({b"low": 10, b"est": 5}), 0.9)
    for _ in range(3):
        training.merge()
    model = model_of(training, TextSplitter("gpt2"))
    assert study.compared(model, ["low", "est"], [["low"], ["es", "t"]])
    assert not study.compared(model, ["low", "est"], [["low"], ["e", "s", "t"]])


def test_a_run_is_merged_as_in_the_text_of_the_original(study: ModuleType) -> None:
    base = events_of(model_of_training(train(WeightedPieces.of_bytes({b"aa": 9, b"ab": 5}), 258), "gpt2"), "it")
    assert study.as_text(base, b"aaaaa") == ["aa", "a", "aa"]  # BPE: aa aa a
    assert study.as_text(base, b"aabab") == ["aa", "b", "ab"]
