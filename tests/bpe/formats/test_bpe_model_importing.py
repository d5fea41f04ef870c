"""Imports: tokenizer.json, rank files, tekken and SentencePiece, as their libraries read them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bpe_models import encode
from cases.model_files import characters
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files.byte_alphabet import byte_of
from pyharness.vocabularies.patterns.split_patterns import GPT2
from pyharness.vocabularies.rank_file import TEKKEN_NAMES, read_tekken
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer
from tokenizer_files import byte_level, rank_data, sentencepiece_data, tekken


def test_tokenizer_json() -> None:
    model = import_model(json.dumps(byte_level()).encode(), label="tokenizer.json")
    assert (model.symbols, model.splitter, model.normalizer, model.decoder) == ("bytes", "gpt2", None, None)
    assert [token.content for token in model.added] == ["<|endoftext|>", "   "]
    assert model.byte_ids is not None
    assert model.origin["kind"] == "huggingface"
    assert model.round_trip == "exact"
    assert encode(model, "hello w") == [model.byte_ids[0] * 0 + token for token in (259, 260)]


def test_characters_with_byte_fallback() -> None:
    file = characters()
    model = import_model(json.dumps(file).encode())
    assert model.symbols == "characters"
    assert (model.unknown, model.fuse_unknown, model.drop_space, model.decoder) == (0, True, True, None)
    assert model.fallback == tuple(range(1, 257))
    vocab = file["model"]["vocab"]
    assert model.alphabet == {piece.encode(): vocab[piece] for piece in ("▁", "a", "b", "é")}
    assert [model.vocabulary[vocab[piece]] for piece in ("▁ab", "<0x41>")] == [b" ab", b"A"]
    file["decoder"]["decoders"].pop()
    assert not import_model(json.dumps(file).encode()).drop_space


def test_other_decoders_are_kept() -> None:
    for decoder in ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}, {"type": "BPEDecoder"}):
        assert import_model(json.dumps(characters(decoder=decoder)).encode()).decoder == decoder


JOIN = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]


@pytest.mark.parametrize(
    ("decoders", "expected"),
    [
        ([*JOIN[:1], {"type": "ByteFallback"}, *JOIN[1:]], "normalised"),
        (JOIN, "lossy"),  # <0x41> comes back as it is written
        ([*JOIN, {"type": "ByteFallback"}], "lossy"),  # which sees one token then
    ],
)
def test_bytes_come_back_only_by_a_decoder_that_sees_them(decoders: list[Any], expected: str) -> None:
    file = characters(decoder={"type": "Sequence", "decoders": decoders})
    tokenizer = BpeTokenizer(import_model(json.dumps(file).encode()))
    assert tokenizer.round_trip == expected
    back = tokenizer.decode(tokenizer.encode("Aé中"))
    assert back == ("Aé中".encode() if expected == "normalised" else b"<0x41>\xc3\xa9<0xE4><0xB8><0xAD>")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"type": "Strip", "content": "a", "start": 1, "stop": 0}, "b a b"),
        ({"type": "Replace", "pattern": {"String": "ba"}, "content": "c"}, "ba"),
        ({"type": "Replace", "pattern": {"Regex": "ba"}, "content": "c"}, "ba"),
    ],
)
def test_what_a_decoder_does_to_each_token(step: dict[str, Any], text: str) -> None:
    """Behind Fuse it is done to the text, as it is to the text that was normalised."""
    start = [*JOIN[:1], {"type": "ByteFallback"}]
    for decoders, expected in (([*start, {"type": "Fuse"}, step], "normalised"), ([*start, step], "lossy")):
        file = characters(decoder={"type": "Sequence", "decoders": decoders})
        tokenizer = BpeTokenizer(import_model(json.dumps(file).encode()))
        assert tokenizer.round_trip == expected
        same = tokenizer.decode(tokenizer.encode(text)).decode() == tokenizer.normalize(text)
        assert same == (expected == "normalised")


@pytest.mark.parametrize(
    "piece", ["<0x41>", "<0xaB>", "<0x+1>", "<0x1+>", "<0x 1>", "<0x1 >", "<0x-1>", "<0x1_>", "<0x٣٣>"]
)
def test_pieces_of_bytes_are_those_of_the_library(piece: str) -> None:
    decoders = pytest.importorskip("tokenizers.decoders", reason="tokenizers is what this is about")
    byte = byte_of(piece)
    data = piece.encode() if byte is None else bytes([byte])
    assert data.decode(errors="replace") == decoders.ByteFallback().decode([piece])


def test_a_prefix_inside_words_does_not_come_back() -> None:
    file = byte_level()
    model = file["model"] | {"merges": [], "continuing_subword_prefix": "##"}
    assert import_model(json.dumps(file | {"model": model}).encode()).round_trip == "lossy"


def test_a_decoder_that_the_library_panics_on() -> None:
    pytest.importorskip("tokenizers", reason="the decoder is run by tokenizers")
    decoder = {"type": "Sequence", "decoders": [*JOIN, {"type": "Strip", "content": "a", "start": 0, "stop": 9}]}
    tokenizer = BpeTokenizer(import_model(json.dumps(characters(decoder=decoder)).encode()))
    with pytest.raises(InputError, match=r"decoder.*tokenizers.*index out of bounds"):
        tokenizer.decode(tokenizer.encode("a"))


def test_affixes() -> None:
    vocab = {"a": 0, "b": 1, "a</w>": 2, "b</w>": 3, "##a": 4, "##b</w>": 5, "ab</w>": 6, "é</w>": 7}
    merges = [["a", "##b</w>"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "end_of_word_suffix": "</w>"}
    file = characters(model={**model, "continuing_subword_prefix": "##"})
    found = import_model(json.dumps(file).encode())
    single = {token.encode(): number for token, number in vocab.items() if number != 6}
    assert (found.alphabet, found.prefix, found.suffix) == (single, "##", "</w>")
    assert found.byte_ids is None
    assert load_bytes(save_bytes(found), "x").alphabet == single


def test_ranks(tmp_path: Path) -> None:
    gap = rank_data() + base64.b64encode(b"xyz") + b" 300\n"
    model = import_model(gap, pattern=GPT2, special={"<x>": 280})
    assert (model.splitter, model.whole_pieces, model.special) == ("gpt2", True, {"<x>": 280})
    assert model.vocabulary.kinds[270] == TokenKind.ABSENT
    assert any(re.match(r"\d+ ids .* no token", note) for note in model.notes)
    assert any(re.match("1 .*whole piece", note) for note in model.notes)
    assert load_bytes(save_bytes(model), "x").notes == model.notes
    with pytest.raises(InputError, match="pattern"):
        import_model(gap)
    (tmp_path / "r50k_base.tiktoken").write_bytes(gap)
    with pytest.raises(InputError, match=r"r50k_base.*50,256.*263"):
        import_model(tmp_path / "r50k_base.tiktoken")
    assert import_model(tmp_path / "r50k_base.tiktoken", pattern="r50k_base").splitter == "gpt2"
    own = import_model(gap, pattern=r"\w+|\W")
    assert own.splitter == r"\w+|\W"
    assert any("tiktoken drops" in note for note in own.notes)
    with pytest.raises(InputError, match=r"split.*special"):
        import_model(json.dumps(byte_level()).encode(), pattern="gpt2")
    with pytest.raises(InputError, match="pattern 'gpt3'"):
        import_model(gap, pattern="gpt3")
    for content, token, reason in (
        ("<x>", 2**31, str(2**31)),
        ("<x>", True, "'<x>'.*'True'"),
        ("", 301, "''"),
        ("\ud800", 301, r"'\\ud800'"),
    ):
        with pytest.raises(InputError, match=reason):
            import_model(gap, pattern="gpt2", special={content: token})


def test_tekken() -> None:
    model = import_model(json.dumps(tekken()).encode())
    assert model.splitter == "tekken"
    assert model.vocabulary[10 + ord("a")] == b"a"
    assert encode(model, "hel") == [267]


def test_a_tekken_file_that_lists_no_special_tokens_has_those_of_its_library() -> None:
    library = pytest.importorskip("mistral_common.tokens.tokenizers.tekken").Tekkenizer
    names = [one["token_str"].value for one in library.DEPRECATED_SPECIAL_TOKENS]
    special = read_tekken(json.dumps(tekken()).encode(), "x").special
    assert (TEKKEN_NAMES, [*special]) == (names, names[:10])
    assert "<SPECIAL_0>" in read_tekken(json.dumps({**tekken(), "special_tokens": []}).encode(), "x").special


def test_a_tekken_pattern_of_ones_own_may_leave_text_out() -> None:
    file, published = tekken(), read_tekken(json.dumps(tekken()).encode(), "x")
    file["config"]["pattern"] = r"\d"
    own = read_tekken(json.dumps(file).encode(), "x")
    assert (published.exact, own.exact) == (True, False)
    notes = [len(import_model(json.dumps(content).encode()).notes) for content in (tekken(), file)]
    assert notes[1] == notes[0] + 1


def test_sentencepiece() -> None:
    model = import_model(sentencepiece_data(2, byte_fallback=True))
    assert (model.symbols, model.splitter, model.drop_space) == ("characters", "none", True)
    assert model.normalizer == SentencePieceNormalizer(name="identity")
    assert [(token.content, token.special) for token in model.added] == [("<s>", True), ("</s>", True), ("[X]", False)]
    assert len(model.fallback) == 256
    assert model.merges.ranks is not None
    assert "▁".encode() in model.alphabet
