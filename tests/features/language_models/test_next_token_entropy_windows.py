"""Windows over long documents: every token is predicted once, from enough context, and batches lose nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import language_models as tiny
from language_models import TEXTS, measured, values
from pyharness.features.language_models import loader, next_token_entropy, windows
from pyharness.features.language_models.windows import Layout, Window, batches, sliding_windows


@st.composite
def sizes(draw: st.DrawFn) -> tuple[list[int], int, int]:
    context = draw(st.integers(1, 12))
    return draw(st.lists(st.integers(0, 40), max_size=6)), context, draw(st.integers(1, context))


def hugging_face_guide(length: int, context: int, stride: int) -> list[tuple[int, int, int]]:
    """The loop of the guide: (begin, end, tokens scored), where the labels of a window are its own inputs.

    There a window of n tokens predicts n - 1 of them, so the windows here are one input shorter.
    """
    found, scored = [], 1
    for begin in range(0, length, stride):
        end = min(begin + context + 1, length)
        found.append((begin, end - 1, end - scored))
        scored = end
        if end == length:
            break
    return found


@given(sizes())
def test_every_token_is_scored_once_in_the_windows_of_the_guide(case: tuple[list[int], int, int]) -> None:
    lengths, context, stride = case
    found = list(sliding_windows(lengths, context, stride))
    scored = [(window.sequence, token) for window in found for token in range(window.first, window.stop + 1)]
    assert scored == [(sequence, token) for sequence, length in enumerate(lengths) for token in range(1, length)]
    for sequence, length in enumerate(lengths):
        mine = [(w.start, w.stop, w.stop + 1 - w.first) for w in found if w.sequence == sequence]
        assert mine == (hugging_face_guide(length, context, stride) if length > 1 else [])
    for window in found:
        assert window.start < window.first
        assert 1 <= len(window) <= context
        assert window.start == 0 or window.first - window.start >= context - stride + 1


@given(sizes(), st.integers(1, 50))
def test_batches_hold_every_window_and_the_layout_says_which_inputs_are_scored(
    case: tuple[list[int], int, int], batch_tokens: int
) -> None:
    lengths, context, stride = case
    found = list(sliding_windows(lengths, context, stride))
    sequences = [np.arange(length, dtype=np.int64) + 100 * number for number, length in enumerate(lengths)]
    grouped = list(batches(found, batch_tokens))
    assert sorted((w.sequence, w.start) for batch in grouped for w in batch) == [(w.sequence, w.start) for w in found]
    for batch in grouped:
        layout = Layout.of(sequences, batch)
        assert len(batch) == 1 or layout.ids.size <= batch_tokens
        assert (layout.ids[layout.scored] + 1 == layout.targets).all()
        assert layout.attended[layout.scored].all()
        for row, window in zip(layout.attended, batch, strict=True):
            assert row.tolist() == [1] * len(window) + [0] * (len(row) - len(window))


@pytest.mark.parametrize(("context", "stride"), [(4, 5), (4, 0), (0, 0)])
def test_a_stride_that_skips_tokens_is_refused(context: int, stride: int) -> None:
    with pytest.raises(ValueError, match=rf"\b{stride}\b.*\bcontext"):
        list(sliding_windows([9], context, stride))


def test_the_example_in_the_documentation() -> None:
    assert [(w.start, w.stop, w.first) for w in sliding_windows([8], 4, 2)] == [(0, 4, 1), (2, 6, 5), (4, 7, 7)]
    assert list(sliding_windows([0, 1], 4, 2)) == []
    assert list(batches([], 4)) == []
    assert len(Window(0, 2, 6, 5)) == 4


def test_batches_are_smaller_where_logits_must_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("transformers", reason="needs the extra hub")
    sizes: list[int] = []

    def noting(found: Iterable[Window], batch_tokens: int) -> Iterator[list[Window]]:
        sizes.append(batch_tokens)
        return batches(found, batch_tokens)

    folder = tiny.build(tmp_path, "gemma2")
    monkeypatch.setattr(windows, "batches", noting)
    monkeypatch.setattr(next_token_entropy, "MOST_LOGITS", 40 * tiny.IDS)
    exact = measured(folder, TEXTS)
    monkeypatch.setattr(loader, "_LOADED", {})
    monkeypatch.setattr(loader, "head_of", lambda *_: "whole")
    stored = measured(folder, TEXTS)
    assert values(stored) == pytest.approx(values(exact), abs=1e-6)
    assert stored.details["model"]["stores_logits"]
    assert sizes == [4096, 40]
