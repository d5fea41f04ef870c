from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_models import TEXT, encode, minbpe_encode
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.importing import import_model
from pyharness.bpe.formats.own.file import load_bytes, save_bytes
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.minbpe_file import read_minbpe, write_minbpe
from pyharness.vocabularies.patterns.split_patterns import GPT2, GPT4_MINBPE, SPLIT_PATTERNS
from pyharness.vocabularies.sentencepiece.model import SentencePieceNormalizer
from tokenizer_files import BYTE_LEVEL, byte_level, message, rank_data, sentencepiece_data, sequence, tekken

# ------------------------------------------------------------------------------------------ tokenizer.json


def test_tokenizer_json() -> None:
    model = import_model(json.dumps(byte_level()).encode(), label="tokenizer.json")
    assert (model.symbols, model.splitter, model.normalizer, model.decoder) == ("bytes", "gpt2", None, None)
    assert [token.content for token in model.added] == ["<|endoftext|>", "   "]
    assert model.byte_ids is not None
    assert model.origin["kind"] == "huggingface"
    assert model.round_trip == "exact"
    assert encode(model, "hello w") == [model.byte_ids[0] * 0 + token for token in (259, 260)]


def characters(**changes: Any) -> dict[str, Any]:
    """A character-level model with byte fallback, as files converted from SentencePiece have it."""
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": 1 + byte for byte in range(256)}}
    for piece in ("▁", "a", "b", "é", "ab", "▁ab"):
        vocab[piece] = len(vocab)
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    steps = [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab}
    merges = [["a", "b"], ["▁", "ab"]]
    decoder = {"type": "Sequence", "decoders": [*steps, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    content: dict[str, Any] = {"added_tokens": [], "pre_tokenizer": None, "normalizer": None, "decoder": decoder}
    return {"version": "1.0", **content, "model": {**model, "merges": merges}, **changes}


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


def test_a_prefix_inside_words_does_not_come_back() -> None:
    file = byte_level()
    model = file["model"] | {"merges": [], "continuing_subword_prefix": "##"}
    assert import_model(json.dumps(file | {"model": model}).encode()).round_trip == "lossy"


def test_a_decoder_that_the_library_panics_on() -> None:
    pytest.importorskip("tokenizers", reason="the decoder is run by tokenizers")
    decoder = {"type": "Sequence", "decoders": [*JOIN, {"type": "Strip", "content": "a", "start": 0, "stop": 9}]}
    tokenizer = BpeTokenizer(import_model(json.dumps(characters(decoder=decoder)).encode()))
    with pytest.raises(InputError, match=r"the decoder .* of tokenizers failed: index out of bounds"):
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


def changed(**changes: Any) -> bytes:
    file = byte_level()
    file["model"] = {**file["model"], **changes.pop("model", {})}
    return json.dumps({**file, **changes}).encode()


_DOUBLE = [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}] * 4

REFUSED = {
    "Unigram": (json.dumps({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}).encode(), "Unigram model, not BPE"),
    "surrogate": (changed(added_tokens=[{"id": 261, "content": "\ud800"}]), "surrogate"),
    "surrogate in the vocabulary": (
        json.dumps(characters(model={"type": "BPE", "vocab": {"a\ud800": 0}, "merges": []})).encode(),
        "token 'a.ud800' has half a surrogate pair",
    ),
    "two lists": (
        changed(
            pre_tokenizer={**sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL), "normalizers": []}
        ),
        "is a Sequence with .'normalizers', 'pretokenizers'.",
    ),
    "no list": (changed(pre_tokenizer={"type": "Sequence"}), "is a Sequence with none"),
    "id of an added token": (changed(added_tokens=[{"id": 5000, "content": "<x>"}]), "tokenizers gives it 261"),
    "order of added tokens": (
        changed(added_tokens=[{"id": 262, "content": "<x>"}, {"id": 261, "content": "<y>"}]),
        "'<x>' has id 262, but tokenizers gives it 261",
    ),
    "another id than in the vocabulary": (
        changed(added_tokens=[{"id": 5000, "content": "a"}]),
        "gives it 97: write that id",
    ),
    "added token as a piece": (
        changed(
            model={"vocab": {**byte_level()["model"]["vocab"], "foo": 261}, "ignore_merges": True},
            added_tokens=[{"id": 261, "content": "foo", "special": True}],
        ),
        "plain text that reads 'foo'",
    ),
    "decoder bomb": (
        json.dumps(characters(decoder={"type": "Sequence", "decoders": _DOUBLE})).encode(),
        "decoder can make a text 1,000 times longer",
    ),
    "decoder of a long token": (
        json.dumps(
            characters(
                model={"type": "BPE", "vocab": {"a" * 700: 0}, "merges": []},
                decoder={"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100},
            )
        ).encode(),
        "the decoder makes more than 65,536 characters of the token 'a",
    ),
    "big id": (changed(model={"vocab": {"a": 2**31}, "merges": []}), "ids are from 0 to below"),
    "scores": (sentencepiece_data(1, byte_fallback=True), "UNIGRAM model, not BPE"),
    "no such character": (
        sentencepiece_data(2, byte_fallback=False) + message(1, message(1, b"zz") + b"\x15\0\0\0\0\x18\x01"),
        "'zz' has a character that is no piece",
    ),
    "nothing": (b"hello", "is no tokenizer file"),
    "ranks": (rank_data() + b"eHl6 2147483648\n", "too large"),
    "two ranks": (rank_data() + b"eHl6 5\n", "rank 5 belongs to both"),
    "token twice": (rank_data() + b"aGU= 999\n", "occurs twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    data, reason = REFUSED[name]
    with pytest.raises(InputError, match=reason):
        import_model(data, label="file", pattern="gpt2" if "rank" in name or "twice" in name else None)


# ------------------------------------------------------------------------------------------ ranks, SentencePiece


def test_ranks(tmp_path: Path) -> None:
    gap = rank_data() + base64.b64encode(b"xyz") + b" 300\n"
    model = import_model(gap, pattern=GPT2, special={"<x>": 280})
    assert (model.splitter, model.whole_pieces, model.special) == ("gpt2", True, {"<x>": 280})
    assert model.vocabulary.kinds[270] == TokenKind.ABSENT
    assert any("ids below the largest have no token" in note for note in model.notes)
    assert any("1 tokens are only as a whole piece" in note for note in model.notes)
    assert load_bytes(save_bytes(model), "x").notes == model.notes
    with pytest.raises(InputError, match="does not say how text is split"):
        import_model(gap)
    (tmp_path / "r50k_base.tiktoken").write_bytes(gap)
    with pytest.raises(InputError, match=r"named for r50k_base, which has 50,256 ranks, and has 263: it is cut off"):
        import_model(tmp_path / "r50k_base.tiktoken")
    assert import_model(tmp_path / "r50k_base.tiktoken", pattern="r50k_base").splitter == "gpt2"
    own = import_model(gap, pattern=r"\w+|\W")
    assert own.splitter == r"\w+|\W"
    assert any("tiktoken drops it" in note for note in own.notes)
    with pytest.raises(InputError, match="leave both out"):
        import_model(json.dumps(byte_level()).encode(), pattern="gpt2")
    with pytest.raises(InputError, match="unknown split pattern 'gpt3'"):
        import_model(gap, pattern="gpt3")
    for content, token, reason in (
        ("<x>", 2**31, "ids are from 0 to below"),
        ("<x>", True, "is 'True', not an integer"),
        ("", 301, "is no text"),
        ("\ud800", 301, "is no text"),
    ):
        with pytest.raises(InputError, match=reason):
            import_model(gap, pattern="gpt2", special={content: token})


def test_tekken() -> None:
    model = import_model(json.dumps(tekken()).encode())
    assert model.splitter == "tekken"
    assert model.vocabulary[10 + ord("a")] == b"a"
    assert encode(model, "hel") == [267]


def test_sentencepiece() -> None:
    model = import_model(sentencepiece_data(2, byte_fallback=True))
    assert (model.symbols, model.splitter, model.drop_space) == ("characters", "none", True)
    assert model.normalizer == SentencePieceNormalizer(name="identity")
    assert [(token.content, token.special) for token in model.added] == [("<s>", True), ("</s>", True), ("[X]", False)]
    assert len(model.fallback) == 256
    assert model.merges.ranks is not None
    assert "▁".encode() in model.alphabet


# ------------------------------------------------------------------------------------------ minbpe

MERGES = ((104, 101), (108, 108), (257, 111), (256, 258))
MINBPE = write_minbpe(GPT4_MINBPE, {"<|endoftext|>": 100257}, MERGES)


def test_minbpe() -> None:
    assert vocabulary_file.detect(MINBPE, "x") == "minbpe"
    model = import_model(MINBPE)
    assert model.splitter == "llama3"
    assert model.special == {"<|endoftext|>": 100257}
    assert [model.vocabulary[token] for token in range(256, 260)] == [b"he", b"ll", b"llo", b"hello"]
    assert encode(model, "hello") == [259]
    assert import_model(write_minbpe("", {}, MERGES)).splitter == "none"
    assert import_model(MINBPE.replace(b"\n", b"\r\n")).splitter == "llama3"
    assert import_model(MINBPE.replace(b"v1\n", b"v1\n \t")).splitter == "llama3"  # minbpe's load strips lines
    own = import_model(write_minbpe(r"\w+", {}, MERGES))
    assert any("minbpe drops it" in note for note in own.notes)


@settings(max_examples=80, deadline=None)
@given(TEXT, st.sampled_from(["", GPT4_MINBPE, SPLIT_PATTERNS["gpt2"].spellings[1]]))
def test_minbpe_ids(text: str, pattern: str) -> None:
    data = write_minbpe(pattern, {}, MERGES)
    assert encode(import_model(data), text) == minbpe_encode(read_minbpe(data, "x"), text)


BAD_MINBPE = {
    "version": (MINBPE.replace(b"v1", b"v2"), "not 'minbpe v1'"),
    "cut": (b"minbpe v1\n", "first line"),
    "count": (b"minbpe v1\n\nx\n", "line 3: 'x' is not a number"),
    "many": (b"minbpe v1\n\n9\n<a> 5\n", "promises 9 special tokens"),
    "huge": (b"minbpe v1\n\n" + b"9" * 19 + b"\n", "promises"),
    "special": (b"minbpe v1\n\n1\n<a>\n", "line 4: '<a>' is not a special token"),
    "special id": (b"minbpe v1\n\n1\n<a> 97\n", "taken or not from 256"),
    "special big": (b"minbpe v1\n\n1\n<a> 2147483648\n", "taken or not from 256"),
    "special twice": (b"minbpe v1\n\n2\n<a> 300\n<a> 301\n", "listed twice"),
    "special ids twice": (b"minbpe v1\n\n2\n<a> 300\n<b> 300\n", "taken"),
    "pair": (b"minbpe v1\n\n0\n97\n", "line 4: '97' is not 2 ids"),
    "letters": (b"minbpe v1\n\n0\n97 b\n", "line 4: '97 b' is not 2 ids"),
    "later": (b"minbpe v1\n\n0\n97 256\n", "id 256 is not made before this line"),
    "twice": (b"minbpe v1\n\n0\n97 98\n97 98\n", "line 5: b'ab' is made a second time, as id 257"),
    "bomb": (
        b"minbpe v1\n\n0\n97 97\n" + b"".join(b"%d %d\n" % (i, i) for i in range(256, 320)),
        "a vocabulary has below",
    ),
    "encoding": (b"minbpe v1\n\xff\n0\n", "not valid UTF-8"),
    "empty line": (b"minbpe v1\n\n0\n\n97 98\n", "line 4: '' is not 2 ids"),
    "two words": (b"minbpe v1\n\n1\n<a b> 300\n", "line 4: '<a b> 300' is not a special token"),
}


@pytest.mark.parametrize("name", BAD_MINBPE)
def test_bad_minbpe_files(name: str) -> None:
    data, reason = BAD_MINBPE[name]
    with pytest.raises(InputError, match=reason):
        read_minbpe(data, "x.model")


# ------------------------------------------------------------------------------------------ any bytes

KINDS = {
    "json": json.dumps(byte_level()).encode(),
    "characters": json.dumps(characters()).encode(),
    "ranks": rank_data(),
    "tekken": json.dumps(tekken()).encode(),
    "sentencepiece": sentencepiece_data(2, byte_fallback=True),
    "minbpe": MINBPE,
    "own": save_bytes(import_model(rank_data(), pattern="gpt2")),
}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_damaged_files_are_input_errors(kind: str, data: st.DataObject) -> None:
    content = bytearray(KINDS[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content) - 1))
        content[start : start + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    try:
        model = import_model(bytes(content), label="file", pattern="gpt2" if kind == "ranks" else None)
    except InputError:
        return
    assert len(model.vocabulary) == model.id_limit
    assert np.isin(model.vocabulary.kinds, list(TokenKind)).all()
    assert save_bytes(load_bytes(save_bytes(model), "x")) == save_bytes(model)
