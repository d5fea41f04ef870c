"""Added tokens are found as tokenizers finds them, with every flag, before and after the normaliser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_files import characters_file
from layout.thoroughness import examples
from pyharness.bpe import BpeEncoder
from pyharness.bpe.encoding.added_tokens import AddedTokens, Stretches
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.vocabularies.huggingface.file import AddedToken
from tokenizer_files import byte_level, sentencepiece_data

CONTENTS = ["\n", "a", "ab", "abc", "b c", " ", "  ", "é", "X", "x y", "<s>", "_", "\u0301", "ca"]
TEXT = st.text(st.sampled_from(" abcXx_y<s>é\u0301e\n\u2003-"), max_size=30)
FLAG = st.booleans()
TOKEN = st.fixed_dictionaries(
    {
        "content": st.sampled_from(CONTENTS),
        "special": FLAG,
        "normalized": FLAG,
        "lstrip": FLAG,
        "rstrip": FLAG,
        "single_word": FLAG,
    }
)
NORMALIZERS = [None, {"type": "Lowercase"}, {"type": "NFC"}, {"type": "Sequence", "normalizers": []}]


@settings(max_examples=examples(100), deadline=None)
@given(
    tokens=st.lists(TOKEN, max_size=5, unique_by=lambda token: token["content"]),
    normalizer=st.sampled_from(NORMALIZERS),
    special=FLAG,
    texts=st.lists(TEXT, min_size=1, max_size=3),
)
def test_any_added_tokens(
    tokens: list[dict[str, Any]], normalizer: dict[str, Any] | None, special: bool, texts: list[str]
) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    file = byte_level()
    # The library lists an added token that is in the vocabulary under the vocabulary's id.
    vocab = file["model"]["vocab"]
    after = iter(range(len(vocab), len(vocab) + len(tokens)))
    file["added_tokens"] = [
        {"id": vocab[token["content"]] if token["content"] in vocab else next(after), **token} for token in tokens
    ]
    file |= {"normalizer": normalizer, "post_processor": None, "truncation": None, "padding": None}
    data = json.dumps(file).encode()
    home = tokenizers.Tokenizer.from_buffer(data)
    home.encode_special_tokens = not special
    ours = BpeTokenizer(import_model(data))
    expected = [document.ids for document in home.encode_batch_fast(texts, add_special_tokens=False)]
    encoded = ours.encode_batch(texts, allowed_special="all" if special else ())
    assert [encoded.document(index).tolist() for index in range(len(texts))] == expected


@pytest.mark.parametrize(("content", "expected"), [("é", "lossy"), ("Ġ", "lossy"), ("é ", "exact"), ("語", "exact")])
def test_added_tokens_that_read_as_bytes_cannot_be_decoded(content: str, expected: str) -> None:
    file = byte_level()
    number = file["model"]["vocab"].get(content, len(file["model"]["vocab"]))
    file["added_tokens"] = [{"id": number, "content": content, "special": False, "normalized": False}]
    tokenizer = BpeTokenizer(import_model(json.dumps(file).encode()))
    assert tokenizer.round_trip == expected
    text = f"a{content}b"
    assert (tokenizer.decode(tokenizer.encode_batch([text]).ids) == text.encode()) == (expected == "exact")


def cut(text: str, *tokens: AddedToken, off: frozenset[int] = frozenset()) -> list[str | int]:
    stretches = AddedTokens(tokens, off).cut(Stretches([text]))
    if stretches.items is None:
        return list(stretches.texts)  # type: ignore[arg-type]
    texts = iter(bytes(part).decode() if isinstance(part, bytes) else part for part in stretches.texts)
    return [next(texts) if item < 0 else item for item in stretches.items.tolist()]


def test_the_longest_of_those_that_start_first() -> None:
    tokens = AddedToken(1, "ab"), AddedToken(2, "abcd"), AddedToken(3, "bcdef")
    assert cut("xabcdefab", *tokens) == ["x", 2, "ef", 1]
    assert cut("abcx", *tokens) == [1, "cx"]
    assert cut("", *tokens) == [""]
    assert cut("ab", *tokens) == [1]


def test_what_is_off_covers_its_text_all_the_same() -> None:
    tokens = AddedToken(1, "b"), AddedToken(2, "ab", special=True)
    assert cut("abb", *tokens, off=frozenset([2])) == ["ab", 1]


def test_spaces_beside_a_token() -> None:
    left, right = AddedToken(1, "X", lstrip=True), AddedToken(2, "Y", rstrip=True)
    assert cut("a \u2003Xb", left, right) == ["a", 1, "b"]
    assert cut("Y" + " " * 1000 + "b", left, right) == [2, "b"]
    assert cut("Y\u3000", left, right) == [2]
    assert cut("Y X", left, right) == [2, 1]


def test_spaces_that_two_tokens_want() -> None:
    """What an earlier token took along is no token again, if it would take spaces along itself."""
    greedy, plain = AddedToken(1, "\t", lstrip=True, rstrip=True), AddedToken(2, "Y", rstrip=True)
    assert cut("a\t\tb", greedy) == ["a", 1, "b"]
    assert cut("Y\tb\t", greedy, plain) == [2, "b", 1]
    assert cut("Y\tb", AddedToken(1, "\t"), plain) == [2, 1, "b"]  # as the library has it


def test_flags_of_tokens_in_bytes_that_are_no_text() -> None:
    tokens = AddedToken(1, "X", lstrip=True, rstrip=True, single_word=True), AddedToken(2, "Y")
    stretches = AddedTokens(tokens).cut(Stretches([b"\xff X \xff X\xe2\x80"]))
    assert [*stretches.texts] == [b"\xff", b"\xff", b"\xe2\x80"]


def test_a_word_of_its_own() -> None:
    token = AddedToken(1, "X", single_word=True)
    assert cut("aX X X\u0301 XX X_ X-", token) == ["aX ", 1, " X\u0301 XX X_ ", 1, "-"]


def test_texts_without_added_tokens_are_not_copied() -> None:
    stretches = Stretches(["hello", "world"])
    assert AddedTokens([AddedToken(1, "X")]).cut(stretches) is stretches


def test_user_defined_pieces_stand_in_normalised_text() -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is what this is about")
    data = sentencepiece_data(2, byte_fallback=True)
    home = sentencepiece.SentencePieceProcessor()
    home.LoadFromSerializedProto(data)
    ours = BpeTokenizer(import_model(data))
    for text in ("[X]", "a[X]b", " [X] [X]", "[X", "hello[X]low w[X][X]"):
        assert ours.encode(text).tolist() == home.encode(text)


@pytest.mark.parametrize(
    "flags", [b"\x18\x01\x20\x01\x28\x01", b"\x18\x00\x20\x01\x28\x01", b"\x18\x00\x20\x00\x28\x01"]
)
def test_normalisers_of_sentencepiece(flags: bytes) -> None:
    """Dummy prefix, removal of extra spaces, escaped spaces: the last of several specifications holds."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is what this is about")
    data = sentencepiece_data(2, byte_fallback=True) + b"\x1a" + bytes([len(flags)]) + flags
    home = sentencepiece.SentencePieceProcessor()
    home.LoadFromSerializedProto(data)
    ours = BpeTokenizer(import_model(data))
    for text in ("", " ", "  hello   low ", "hello", "a [X]  b", "▁ ▁▁ w"):
        assert ours.encode(text).tolist() == home.encode(text)


@given(st.lists(st.sampled_from(["▁", "h", "e", "l", "o", "w", "é", "?", "▁hello", "ll"]), max_size=60).map("".join))
def test_cutting_at_borders_does_not_change_ids(text: str) -> None:
    """The reference: all symbols of the whole text merged at once."""
    model = import_model(json.dumps(characters_file(fuse_unk=False)).encode())
    symbols = [model.alphabet.get(character.encode(), model.unknown) for character in text]
    expected = BpeEncoder(model.merges).encode(np.array(symbols, np.uint32))
    assert BpeTokenizer(model).encode(text).tolist() == expected.tolist()
