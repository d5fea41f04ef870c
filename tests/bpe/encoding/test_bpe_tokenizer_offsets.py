"""Offsets and streams of a ``BpeTokenizer``, as tiktoken, tokenizers and SentencePiece have them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_files import FILES, words_file
from cases.tokenizer_models import RANKS, TEXT, model_of_file, tiktoken_of
from layout.thoroughness import examples
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import fields
from tokenizer_files import byte_level, sentencepiece_data


@settings(max_examples=examples(200), deadline=None)
@given(TEXT)
def test_offsets_as_tiktoken_has_them(text: str) -> None:
    home = tiktoken_of(RANKS)
    ids = home.encode(text, allowed_special="all")
    decoded, starts = RANKS.decode_with_offsets(np.array(ids, np.uint32))
    assert (decoded, starts.tolist()) == home.decode_with_offsets(ids)
    found, spans = RANKS.encode_with_offsets(text, allowed_special="all")
    assert found.tolist() == ids
    assert spans[:, 0].tolist() == starts.tolist()
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    _, in_bytes = RANKS.encode_with_offsets(whole.encode(), allowed_special="all")
    assert [whole.encode()[start:end] for start, end in in_bytes.tolist()] == [
        RANKS.decode_single_token_bytes(token) for token in ids
    ]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.sampled_from(["he", "llo", " w", "é", "\U0001f600", "   ", "<|endoftext|>"]) | st.text(max_size=4)).map(
        "".join
    )
)
def test_offsets_as_tokenizers_has_them(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    file = byte_level() | {"post_processor": None, "truncation": None, "padding": None}
    data = json.dumps(file).encode()
    home, ours = tokenizers.Tokenizer.from_buffer(data), BpeTokenizer(import_model(data))
    expected = home.encode(text, add_special_tokens=False)
    ids, spans = ours.encode_with_offsets(text, allowed_special="all")
    assert ids.tolist() == expected.ids
    assert [tuple(span) for span in spans.tolist()] == expected.offsets


@pytest.mark.parametrize("fallback", [False, True])
def test_offsets_as_sentencepiece_has_them(fallback: bool) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is what this is about")
    data = sentencepiece_data(2, byte_fallback=fallback)
    file = data + bytes([0x1A, 2, 0x20, 0])  # white space is kept
    home = sentencepiece.SentencePieceProcessor(model_proto=file)
    ours = BpeTokenizer(import_model(file))
    for text in ("hell low", " w", "he[X]w", "", "hello  w "):
        ids, spans = ours.encode_with_offsets(text.encode())
        # SentencePieceText: field 2 is a piece; in it 2 is the id, 4 and 5 are its first byte and the one behind it.
        whole = fields(home.encode(text, return_type="serialized_proto"), "pieces")
        pieces = [dict(fields(value, "piece")) for number, value in whole if number == 2]  # type: ignore[arg-type]
        assert ids.tolist() == [piece[2] for piece in pieces]
        assert spans.tolist() == [[piece.get(4, 0), piece.get(5, 0)] for piece in pieces]
        assert ours.decode_with_offsets(ids)[0] == text
    if fallback:
        assert ours.encode_with_offsets("hené")[1].tolist()[-2:] == [[3, 4], [3, 4]]
    else:
        with pytest.raises(InputError, match=r"from byte 2\b"):
            ours.encode_with_offsets("hené")


def test_text_without_places() -> None:
    ours = BpeTokenizer(import_model(json.dumps(byte_level() | {"normalizer": {"type": "Lowercase"}}).encode()))
    assert ours.encode_with_offsets("he")[1].tolist() == [[0, 2]]
    with pytest.raises(InputError, match=r"byte 1\b.*b'E'.*b'e'"):
        ours.encode_with_offsets("hE")
    with pytest.raises(InputError, match=r"ids .*at byte 2"):
        RANKS.decode_with_offsets(np.array([256, 200], np.uint32))
    words = BpeTokenizer(import_model(json.dumps(words_file(suffix="</w>")).encode()))
    with pytest.raises(InputError, match=r"decoder.*places"):
        words.decode_with_offsets(np.array([1], np.uint32))


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.integers(0, 261)))
def test_a_stream_gives_the_text_of_all_ids(ids: list[int]) -> None:
    pieces = list(RANKS.decode_stream(ids))
    assert all(pieces)
    assert "".join(pieces) == RANKS.decode(np.array(ids, np.uint32)).decode(errors="replace")


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", FILES)
def test_a_stream_of_every_kind_of_file(name: str, data: st.DataObject) -> None:
    for module in ("tokenizers", "sentencepiece"):
        pytest.importorskip(module, reason="decoders are run by the library")
    ours = tokenizer_of(name)
    present = [token for token in range(ours.id_limit) if ours.id_to_token(token) is not None]
    ids = data.draw(st.lists(st.sampled_from(present), max_size=12))
    decoded = ours.decode(np.array(ids, np.uint32))
    cut = data.draw(st.integers(0, len(ids)))
    assert b"".join(ours.decode_parts([np.array(part, np.uint32) for part in (ids[:cut], ids[cut:])])) == decoded
    expected = decoded.decode(errors="replace")
    if name == "words with a prefix":  # its decoder puts spaces between letters, but not those of the last token
        with suppress(InputError):
            assert "".join(ours.decode_stream(ids)) == expected
        return
    assert "".join(ours.decode_stream(ids)) == expected


@pytest.mark.parametrize("pieces", [("<unk>",), ("<unk>", "▁"), ("▁", "▁w"), ("▁", "▁", "o"), ("<s>", "▁w", "▁w")])
def test_parts_of_ids_as_sentencepiece_decodes_them(pieces: tuple[str, ...]) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is what this is about")
    data = sentencepiece_data(2, byte_fallback=False)
    home, ours = sentencepiece.SentencePieceProcessor(model_proto=data), BpeTokenizer(import_model(data))
    ids = [home.piece_to_id(piece) for piece in pieces]
    parts = [np.array([token], np.uint32) for token in ids]
    for given_parts in (parts, [np.concatenate(parts)]):
        assert b"".join(ours.decode_parts(given_parts)) == home.decode(ids).encode()


def test_a_decoder_that_goes_back_on_what_it_gave() -> None:
    pytest.importorskip("tokenizers", reason="decoders are run by the library")
    with pytest.raises(InputError, match=r"decoder.* at once"):
        list(tokenizer_of("words with a prefix").decode_stream([0, 0]))


_TOKENIZERS: dict[str, BpeTokenizer] = {}


def tokenizer_of(name: str) -> BpeTokenizer:
    if name not in _TOKENIZERS:
        _TOKENIZERS[name] = BpeTokenizer(model_of_file(name))
    return _TOKENIZERS[name]


def test_a_stream_gives_characters_when_they_are_whole() -> None:
    ids = [256, *"é".encode(), *"\U0001f600".encode(), 0xF0, 257, 0xE4]
    consumed = 0

    def source() -> Any:
        nonlocal consumed
        for token in ids:
            consumed += 1
            yield token

    stream = RANKS.decode_stream(source())
    assert [(text, consumed) for text in stream] == [
        ("he", 1), ("é", 3), ("\U0001f600", 7), ("\ufffdll", 9), ("\ufffd", 10),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"id 5000 .*vocabulary"):
        list(RANKS.decode_stream([256, 5000]))
    with pytest.raises(TypeError, match="float"):
        list(RANKS.decode_stream([1.5]))  # type: ignore[list-item]


@pytest.mark.parametrize("text", ["hello low", "é", "A\U0001f600 hello", ""])
def test_a_stream_as_tokenizers_has_it(text: str) -> None:
    decoders = pytest.importorskip("tokenizers.decoders", reason="tokenizers is what this is about")
    tokenizers = pytest.importorskip("tokenizers")
    home, ours = tokenizers.Tokenizer.from_str(json.dumps(FILES["byte level"])), tokenizer_of("byte level")
    ids, step = ours.encode(text).tolist(), decoders.DecodeStream([])
    expected = [found for token in ids if (found := step.step(home, token))]
    assert list(ours.decode_stream(ids)) == expected
