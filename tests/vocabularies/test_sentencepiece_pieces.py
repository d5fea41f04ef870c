"""Pieces in the form that trainers write are read at once: the result, or the message, is that of reading fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.types import InputError
from pyharness.vocabularies import sentencepiece_file
from pyharness.vocabularies.sentencepiece_file import Field
from tokenizer_files import message, sentencepiece_data

MODEL = sentencepiece_data(2, byte_fallback=True)
SCORE = b"\x15\x00\x00\x80\xbf"
PIECES = (
    message(1, b"ab") + SCORE,
    message(1, b"ab") + SCORE + b"\x18\x04",
    message(1, b"ab") + SCORE + b"\x18\x07",  # no such type
    message(1, b"ab") + SCORE + b"\x18\x81\x00",  # a number in two bytes
    message(1, b"ab"),
    SCORE + message(1, b"ab"),
    message(1, b"ab") + SCORE + SCORE,
    message(1, b"ab") + message(1, b"cd") + SCORE,
    message(1, b"a" * 200) + SCORE,
    message(1, b"\x15\xff") + SCORE,
    message(1, b"ab\x15") + SCORE,
    message(1, b"") + SCORE,
    message(1, b"ab") + b"\x15\x00\x00\xc0\x7f",  # not a number
    message(1, b"ab") + SCORE[:-1],
    b"\x0a\x03ab" + SCORE,
    b"\x0a\x01ab" + SCORE,
    b"",
)


def outcome(data: bytes) -> str:
    try:
        return repr(sentencepiece_file.read_model(data, "a file"))
    except InputError as error:
        return str(error)


@given(
    st.lists(st.sampled_from(PIECES), max_size=2),
    st.lists(st.tuples(st.integers(0, len(MODEL) - 1), st.integers(0, 255)), max_size=2),
)
def test_the_plain_form_and_fields_agree(pieces: list[bytes], edits: list[tuple[int, int]]) -> None:
    model = bytearray(MODEL)
    for place, byte in edits:
        model[place] = byte
    data = b"".join(message(1, piece) for piece in pieces) + bytes(model)
    at_once = outcome(data)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sentencepiece_file, "_PIECE", re.compile(b"(?!)"))
        assert at_once == outcome(data)


def test_the_plain_form_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    fields = sentencepiece_file.fields

    def counted(data: bytes, label: str) -> Iterator[Field]:
        read.append(len(data))
        return fields(data, label)

    monkeypatch.setattr(sentencepiece_file, "fields", counted)
    assert len(sentencepiece_file.read_model(MODEL, "a file").pieces) > 256
    assert len(read) == 3, "the model, and the two messages behind its pieces"
