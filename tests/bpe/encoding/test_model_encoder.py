"""Encoders of a model have one face: the fast one and the one for every kind of model give the same ids through it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from bpe_models import character_model, texts, trained_model
from pyharness.bpe import BpeModel, BpeTokenizer, TextEncoder, TextSplitter
from pyharness.bpe.encoding.encoders import ModelEncoder, Places, SymbolEncoder
from pyharness.bpe.formats.imports import import_model
from pyharness.types import TokenKind
from tokenizer_files import rank_data

MAKERS: dict[str, Callable[[BpeModel, TextSplitter | None], ModelEncoder]] = {
    "text": lambda model, splitter: TextEncoder(model.merges, splitter, expansion=model.expansion),
    "symbols": SymbolEncoder,
}


@pytest.mark.parametrize("pattern", ["gpt2", "none"])
@pytest.mark.parametrize("scaffold", [False, True])
def test_both_encoders_give_the_same_ids(pattern: str, scaffold: bool) -> None:
    model, splitter = trained_model(pattern, scaffold=scaffold), TextSplitter(pattern)
    some = [*texts(20), ""]
    expected = BpeTokenizer(model).encode_batch(some)
    places = Places(np.arange(len(some), dtype=np.uint64), np.zeros(len(some), np.uint64))
    for make in MAKERS.values():
        for encoder in (make(model, splitter), make(model, None)):
            found = encoder.encode_pieces(some, splitter.split_batch(some), 2, places=places)
            assert found.ids.tolist() == expected.ids.tolist()
            assert found.offsets.tolist() == expected.offsets.tolist()
        encoder = make(model, splitter)
        assert encoder.encode_batch(some, 2, places=places).ids.tolist() == expected.ids.tolist()
        assert [encoder.shortcut(text).tolist() for text in some] == [
            expected.document(index).tolist() for index in range(len(some))
        ]


@pytest.mark.parametrize("whole_pieces", [False, True])
def test_unused_tokens_of_a_byte_model_are_written_as_their_parts(whole_pieces: bool) -> None:
    model = import_model(rank_data(), pattern="gpt2")
    unused = model.vocabulary.kinds.copy()
    unused[256] = TokenKind.UNUSED  # he
    vocabulary = dataclasses.replace(model.vocabulary, kinds=unused)
    model = dataclasses.replace(model, vocabulary=vocabulary, whole_pieces=whole_pieces)
    for text, expected in (("he", [*b"he"]), ("hello he", [259, *b" he"])):
        assert BpeTokenizer(model).encode(text).tolist() == expected
        assert SymbolEncoder(model, TextSplitter("gpt2")).encode_batch([text]).ids.tolist() == expected


def test_the_fast_encoder_without_a_splitter_wants_pieces() -> None:
    encoder = TextEncoder(trained_model("gpt2").merges, None)
    for encode in (encoder.encode, encoder.shortcut, lambda text: encoder.encode_batch([text])):
        with pytest.raises(ValueError, match="give it pieces"):
            encode("a")


def test_dropout_draws_by_the_places_of_texts() -> None:
    encoder = SymbolEncoder(trained_model("gpt2"), None, dropout=0.5, seed=7)
    zeros = np.zeros(3, np.uint64)
    some = ["something in the middle"] * 3
    same = encoder.encode_batch(some, places=Places(zeros, zeros))
    assert len({same.document(index).tobytes() for index in range(3)}) == 1
    other = encoder.encode_batch(some)
    assert len({other.document(index).tobytes() for index in range(3)}) > 1
    assert (
        other.ids.tolist()
        == encoder.encode_batch(some, places=Places(np.arange(3, dtype=np.uint64), zeros)).ids.tolist()
    )


@pytest.mark.parametrize("model", [trained_model("gpt2"), trained_model("none"), character_model()])
def test_a_model_has_one_splitter(model: BpeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    start = TextSplitter.__init__

    def counted(self: TextSplitter, pattern: str, **options: object) -> None:
        made.append(pattern)
        start(self, pattern, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(TextSplitter, "__init__", counted)
    BpeTokenizer(model)
    assert len(made) == 1
