"""Unused pieces of SentencePiece models merge and are taken apart again, as sentencepiece does it."""

from __future__ import annotations

import io
import random
import struct
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_models import sample
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import PieceType, fields, read_model
from tokenizer_files import message

sentencepiece: Any = pytest.importorskip("sentencepiece", reason="sentencepiece is what this is about")


@cache
def trained(byte_fallback: bool) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample()[:300]), model_writer=out, model_type="bpe", vocab_size=1400,
        byte_fallback=byte_fallback, character_coverage=0.98, minloglevel=2, user_defined_symbols=["the", "ing"],
    )  # fmt: skip
    return out.getvalue()


def with_unused(data: bytes, tokens: set[int]) -> bytes:
    """The same model with pieces of another type."""
    model = read_model(data, "x")
    pieces = b"".join(
        message(
            1,
            message(1, piece.encode()) + b"\x15" + struct.pack("<f", score)
            + bytes([0x18, PieceType.UNUSED if token in tokens else kind]),
        )
        for token, (piece, score, kind) in enumerate(zip(model.pieces, model.scores, model.types, strict=True))
    )  # fmt: skip
    rest = b"".join(
        message(number, value) for number, value in fields(data, "x") if number != 1 and type(value) is bytes
    )
    return pieces + rest


@settings(max_examples=25, deadline=None)
@given(byte_fallback=st.booleans(), share=st.sampled_from([0.02, 0.3, 0.9]), seed=st.integers(0, 10**6))
def test_same_ids_and_text(byte_fallback: bool, share: float, seed: int) -> None:
    data, draw = trained(byte_fallback), random.Random(seed)
    model = read_model(data, "x")
    normal = [token for token, kind in enumerate(model.types) if kind is PieceType.NORMAL]
    data = with_unused(data, {token for token in normal if draw.random() < share})
    home = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = BpeTokenizer(load_bytes(save_bytes(import_model(data)), "again"))
    texts = [text[:300] for text in draw.sample(sample(), 25)]
    texts += ["".join(draw.choices(model.pieces, k=12)) for _ in range(25)]
    for text in texts:
        ids = ours.encode(text)
        assert ids.tolist() == home.encode(text), text
        if not byte_fallback:  # ours gives the bytes, also where they are no text
            assert ours.decode(ids).decode() == home.decode(ids.tolist())


def test_a_reader_that_does_not_know_them_refuses_the_file() -> None:
    data = trained(False)
    token = read_model(data, "x").types.index(PieceType.NORMAL)
    assert b'"version": 1,' in save_bytes(import_model(data))[:200]
    assert b'"version": 2,' in save_bytes(import_model(with_unused(data, {token})))[:200]


def test_unused_pieces_of_unknown_characters_are_refused() -> None:
    piece = message(1, message(1, "\u2603\u2603".encode()) + b"\x15\0\0\0\0\x18\x05")
    with pytest.raises(InputError, match=r"piece '\u2603\u2603' .*character"):
        import_model(trained(False) + piece)
