"""Corpora of different sizes that count alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapted.bases import NEW, OLD, metaspace_file, write_base
from cases.trained_rows import asked
from pyharness.bpe import WeightedPieces, import_model
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, encoded
from pyharness.features.adaptation.trainers.growth import balance, joined, scaled
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError


def train(
    base: Path | str, tokens: int = 20, texts: Iterable[str] = NEW, name: str = "continued-bpe", **options: Any
) -> TrainedTokenizer:
    kept = list(texts)
    return trainers.train(name, asked(name, texts=lambda: kept, base=str(base), tokens=tokens, **options))


def strings(trained: TrainedTokenizer, first: int) -> list[bytes]:
    assert trained.model is not None
    return [trained.model.vocabulary[token] for token in range(first, trained.model.id_limit)]


def test_corpora_are_balanced_by_tokens_of_the_base(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    rare = ["päike paistab"] * 2
    texts: dict[str, Any] = {"texts": [*NEW * 50, *rare], "parts": lambda: [NEW * 50, rare]}
    assert not any("päi".encode() in string for string in strings(train(base, 12, **texts), 273))
    assert any("päi".encode() in string for string in strings(train(base, 12, **texts, balance=True), 273))
    with pytest.raises(InputError, match=r"corpus 2 has no text\b"):
        train(base, 12, texts=NEW, parts=lambda: [NEW, []], balance=True)
    with pytest.raises(InputError, match=r"corpus 2 .*added tokens"):
        train(base, 12, texts=NEW, parts=lambda: [NEW, ["<|end|>"]], balance=True)
    with pytest.raises(InputError, match=r"balance .*several"):
        train(base, 12, balance=True)


def test_balanced_corpora_have_equal_mass() -> None:
    model = trainers.train("bpe", asked("bpe", texts=lambda: OLD, vocab_size=270)).model
    assert model is not None
    parts = [WeightedPieces.of_bytes(words) for words in ({b"the": 1000, b" cat": 7}, {b" sat": 3, b"qqq": 1})]
    masses = []
    for pieces, factor in zip(parts, balance(model, parts), strict=True):
        lengths = np.diff(encoded(model, pieces, whole_pieces=False).offsets)
        masses.append(int((lengths * scaled(pieces.weights, factor).astype(np.int64)).sum()))
    assert masses[1] == pytest.approx(masses[0], rel=0.02)  # weights are whole numbers
    both = joined([WeightedPieces.of_bytes({b"a": 1}), WeightedPieces.of_bytes({b"b": 2, b"a": 3})], [2.0, 1.5])
    assert both.weights.tolist() == [2 + 4, 3]  # 4.5 is rounded to the even number


@pytest.mark.parametrize(("split", "weights"), [(True, [12]), (False, [2])])
def test_corpora_are_weighed_by_the_tokens_that_the_base_gives(split: bool, weights: list[int]) -> None:
    """▁abcd is a token where it is a piece, and four where the whole text is one."""
    model = import_model(metaspace_file(split=split))
    parts = []
    for texts in (["abcd abcd"], ["ef"] * 4):
        pieces = ModelPieces(model)
        pieces.add(texts)
        parts.append(pieces.pieces())
    factors = balance(model, parts)
    assert [scaled(part.weights, one).tolist() for part, one in zip(parts, factors, strict=True)] == [weights, [4]]
