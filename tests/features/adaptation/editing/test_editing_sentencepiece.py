"""Edited SentencePiece models: what changes on the wire, and that the library reads them as we do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adapted.edited_files import ids_of, made_up, texts_of, without, without_leaves
from bpe_files import unused
from pyharness.bpe import import_model
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import fields, read_model
from tokenizer_files import message, sentencepiece_data

MARK = "▁".encode()
TRAINER = (
    b"\x20" + bytes([10]) + b"\xc8\x02\x01" + b"\xd8\x02" + b"\xff" * 9 + b"\x01"
)  # vocab_size, bos_id 1, pad_id -1


def agree(data: bytes, texts: list[str]) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    library: Any = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert library.encode(texts) == ids_of(import_model(data), texts)


def larger() -> bytes:
    """A model with sizes and ids in its trainer's message, unknown fields, and texts that it tests itself with."""
    data = sentencepiece_data(2, byte_fallback=True)
    start = data.rindex(message(3, b"\x0a\x08identity"))
    return b"".join((data[:start], message(2, TRAINER), data[start:], message(4, message(1, b"")), message(15, b"own")))


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_pieces_are_appended(byte_fallback: bool) -> None:
    data = sentencepiece_data(2, byte_fallback=byte_fallback)
    model = import_model(data)
    generator = random.Random(3)
    tokens, _ = made_up(model, 12, generator)
    edited = extend_file(data, tokens, [], "it")
    assert extend_file(data, [], [], "it") == data
    before, after = read_model(data, "it"), read_model(edited, "it")
    assert after.pieces == (*before.pieces, *(string.decode() for _, string in tokens))
    assert after.scores[: len(before.scores)] == before.scores
    new = after.scores[len(before.scores) :]
    assert list(new) == sorted(new, reverse=True)
    assert len(set(new)) == len(new)
    assert max(new) < min(before.scores)
    assert after.types[: len(before.types)] == before.types
    agree(edited, texts_of(model, [string for _, string in tokens], generator))


def test_only_named_fields_change() -> None:
    data = larger()
    edited = extend_file(data, [(270, b"hell" + MARK)], [], "it")
    old, new = list(fields(data, "it")), list(fields(edited, "it"))
    pieces = sum(number == 1 for number, _ in old)
    assert new[:pieces] == old[:pieces]
    assert [number for number, _ in new[pieces:]] == [1, 2, 2, 3, 15]
    assert new[pieces + 1] == old[pieces]
    assert new[pieces + 2] == (2, TRAINER.replace(bytes([10]), b"\x8f\x02", 1))
    assert new[-1] == (15, b"own")


def test_scores_far_below() -> None:
    data = sentencepiece_data(2, byte_fallback=False)
    lowest = np.float32(-1e9)
    data = data.replace(np.float32(-10).tobytes(), lowest.tobytes())
    assert min(read_model(data, "it").scores) == lowest
    edited = extend_file(data, [(14, b"hel"), (15, b"helo"), (16, b"low")], [], "it")
    scores = read_model(edited, "it").scores
    assert lowest > scores[14] > scores[15] > scores[16] > -1.001e9
    agree(edited, ["helo hell low"])
    endless = data.replace(lowest.tobytes(), np.float32(-np.inf).tobytes())
    with pytest.raises(InputError, match="no 1 different ones below"):
        extend_file(endless, [(14, b"hel")], [], "it")


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_pieces_are_dropped(byte_fallback: bool) -> None:
    data = sentencepiece_data(2, byte_fallback=byte_fallback)
    model = import_model(data)
    ids = without_leaves(model, 0.6, random.Random(1))
    assert ids.size < model.id_limit
    edited = prune_file(data, ids, "it")
    kept = [piece for token, piece in enumerate(fields(data, "it")) if token >= len(ids) or ids.new[token] >= 0]
    assert list(fields(edited, "it")) == kept
    assert prune_file(data, without(model, []), "it") == data
    agree(edited, texts_of(model, [b"hell", b"hello"], random.Random(1)))


def test_sizes_and_ids_follow() -> None:
    data = larger()
    ids = without(import_model(data), [3])  # "[X]", a user-defined piece
    trainer = [value for number, value in fields(prune_file(data, ids, "it"), "it") if number == 2][-1]
    assert trainer == TRAINER.replace(bytes([10]), b"\x8d\x02", 1)


def test_unused_pieces_are_used_again() -> None:
    data = unused("he", "hell")
    model = import_model(data)
    places = [read_model(data, "it").pieces.index(piece) for piece in ("he", "hell")]
    edited = extend_file(data, [(places[1], b"lo"), (3, b"hel"), (14, b"lol")], [], "it")
    after = read_model(edited, "it")
    assert [after.pieces[token] for token in (places[1], 3, 14)] == ["lo", "hel", "lol"]
    assert after.scores[places[1]] > after.scores[3] > after.scores[14]
    agree(edited, texts_of(model, [b"lol", b"hel", b"lo"], random.Random(1)))


def test_models_that_are_refused() -> None:
    data = sentencepiece_data(2, byte_fallback=True)
    model = import_model(data)
    for tokens, why in (
        ([(999, b"hel")], "follow 269 one by one"),
        ([(1, b"hel")], "id 1 belongs to '<s>'"),
        ([(260, b"hel")], "id 260 belongs to 'he'"),
        ([(270, b"he")], "already, as id 260"),
        ([(270, b"\xff")], "is not UTF-8"),
    ):
        with pytest.raises(InputError, match=why):
            extend_file(data, tokens, [], "it")
    for gone, why in ((0, "'<unk>' has id 0"), (1, "'<s>' has id 1"), (9, "'<0x05>' has id 9")):
        with pytest.raises(InputError, match=why):
            prune_file(data, without(model, [gone]), "it")
    with pytest.raises(InputError, match="without gaps"):
        prune_file(data, IdMap(np.array([*range(262), -1, *range(263, 270)]), 270), "it")
    with pytest.raises(InputError, match="is a UNIGRAM model"):
        extend_file(sentencepiece_data(1, byte_fallback=False), [], [], "it")
