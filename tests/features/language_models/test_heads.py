"""Predictions from hidden states: equal to those of all logits, in bounded memory, and only where they are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from pyharness.features.language_models import causal, loader, windows
from pyharness.features.language_models.causal import CausalModel
from pyharness.features.language_models.windows import Layout

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")

HEADS = {"gpt2": "linear", "llama": "linear", "gemma2": "rows"}  # Gemma 2 caps its logits
Loaded = Callable[[str], CausalModel]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: tiny.build(tmp_path_factory.mktemp(kind), kind, tokenizer=False) for kind in HEADS}


@pytest.fixture
def loaded(folders: dict[str, Path]) -> Loaded:
    """Load a model anew: tests change it."""
    loader._LOADED.clear()
    return lambda kind: loader.load(str(folders[kind]), "cpu", "float32")


def layout() -> Layout:
    """Windows of three sequences of ids."""
    draw = np.random.default_rng(5)
    sequences = [draw.integers(0, tiny.IDS, size) for size in (50, 9, 2)]
    sliding = windows.sliding_windows(map(len, sequences), tiny.CONTEXT, tiny.CONTEXT // 2)
    return Layout.of(sequences, list(sliding))


@pytest.mark.parametrize("columns", [tiny.IDS, 200])
@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
@pytest.mark.parametrize("kind", HEADS)
def test_both_ways_say_the_same(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, kind: str, rows_at_once: int, columns: int
) -> None:
    batch, model = layout(), loaded(kind)
    batch.targets[:] %= columns
    monkeypatch.setattr(causal, "LOGITS_AT_ONCE", {"cpu": 0})
    monkeypatch.setattr(causal, "LEAST_ROWS", rows_at_once)
    assert model.head == HEADS[kind]
    for ours, theirs in zip(
        model.score(batch, columns), replace(model, head="whole").score(batch, columns), strict=True
    ):
        assert ours.shape == theirs.shape == (batch.scored.sum(),)
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)
        assert ours.mean(dtype=np.float64) == pytest.approx(theirs.mean(dtype=np.float64), abs=1e-6)


def test_a_chunk_of_logits_exists_at_a_time_and_only_those_that_are_scored(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, model, sizes = layout(), loaded("gemma2"), []
    monkeypatch.setattr(causal, "LOGITS_AT_ONCE", {"cpu": 8 * tiny.IDS - 1})
    monkeypatch.setattr(causal, "LEAST_ROWS", 3)
    model.network.get_output_embeddings().register_forward_hook(
        lambda module, given, logits: sizes.append(logits.shape[:-1].numel())
    )
    model.score(batch, tiny.IDS)
    assert sum(sizes) == batch.scored.sum() < batch.attended.sum()
    assert set(sizes[:-1]) == {7}
    assert sizes[-1] <= 7


@pytest.mark.parametrize("kind", HEADS)
def test_all_logits_are_made_by_the_network_as_a_whole_alone(loaded: Loaded, kind: str) -> None:
    """By a plain head neither; what the body makes is smaller, even here."""
    batch, model = layout(), loaded(kind)
    every = 4 * batch.ids.size * tiny.IDS
    assert tiny.largest_tensor(lambda: model.score(batch, tiny.IDS)) < every / 2
    assert tiny.largest_tensor(lambda: replace(model, head="whole").score(batch, tiny.IDS)) >= every


def test_a_head_that_looks_at_other_rows_is_run_with_the_whole_network(loaded: Loaded) -> None:
    model = loaded("gemma2")
    forward = model.network.forward

    def summed(**given: Any) -> Any:
        output = forward(**given)
        output.logits = output.logits.cumsum(1)
        return output

    model.network.forward = summed
    assert loader.probed(model).head == "whole"


@pytest.mark.parametrize("error", [AttributeError, RuntimeError])
def test_a_head_that_wants_more_than_hidden_states_is_run_with_the_whole_network(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refused(*_: Any) -> None:
        raise error("no image_hidden_states")

    model = loaded("gemma2")
    monkeypatch.setattr(CausalModel, "logits_of", refused)
    assert loader.probed(model).head == "whole"


def test_the_body_is_itself_again(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, model = layout(), loaded("gemma2")
    before = model.score(batch, tiny.IDS)[1]
    monkeypatch.setattr(model.network.get_output_embeddings(), "forward", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.score(batch, tiny.IDS)
    monkeypatch.undo()
    assert "forward" not in vars(model.network.base_model)
    assert model.score(batch, tiny.IDS)[1].tolist() == before.tolist()
