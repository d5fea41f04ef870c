"""Files that cannot be imported or are damaged: refused, with the reason; and minbpe's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_files import words_file
from bpe_models import TEXT, encode, minbpe_encode
from cases.model_files import characters
from layout.thoroughness import examples
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.minbpe_file import read_minbpe, write_minbpe
from pyharness.vocabularies.patterns.split_patterns import GPT4_MINBPE, SPLIT_PATTERNS
from tokenizer_files import BYTE_LEVEL, byte_level, message, rank_data, sentencepiece_data, sequence, tekken


def changed(**changes: Any) -> bytes:
    file = byte_level()
    file["model"] = {**file["model"], **changes.pop("model", {})}
    return json.dumps({**file, **changes}).encode()


def prefixed(merges: list[list[str]], *more: str) -> dict[str, Any]:
    """A file whose symbols inside words begin with ##, with these merges."""
    file = words_file(prefix="##")
    vocab = dict.fromkeys((*file["model"]["vocab"], *more))
    return {**file, "model": {**file["model"], "merges": merges, "vocab": {piece: i for i, piece in enumerate(vocab)}}}


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
        "plain text 'foo'",
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
        "'zz' has a character",
    ),
    "nothing": (b"hello", "not a tokenizer file"),
    "ranks": (rank_data() + b"eHl6 2147483648\n", "2147483648.* below"),
    "rank of many digits": (rank_data() + b"eHl6 " + b"1" * 30 + b"\n", "1{30}.* below"),
    "ranks without a byte": (rank_data().split(b"\n", 1)[1], r"\(0x00\)"),
    "right part shorter than the prefix": (json.dumps(prefixed([["h", "e"]])).encode(), "merge 0.*'##'.*'e'"),
    "right part of longer characters": (json.dumps(prefixed([["h", "éx"]], "éx")).encode(), "merge 0.*'##'.*'éx'"),
    "two ranks": (rank_data() + b"eHl6 5\n", "rank 5 belongs to both"),
    "token twice": (rank_data() + b"aGU= 999\n", "occurs twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    data, reason = REFUSED[name]
    with pytest.raises(InputError, match=reason):
        import_model(data, label="file", pattern="gpt2" if "rank" in name or "twice" in name else None)


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
    assert any("minbpe drops" in note for note in own.notes)


@settings(max_examples=examples(80), deadline=None)
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
        r"283 tokens .* 268,435,456\b",
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


@pytest.mark.parametrize("right", ["##e", "##", "zz", "zzx", "é", "éé", "éx", "e", "x"])
def test_a_prefix_is_cut_off_as_the_library_does(right: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    data = json.dumps(prefixed([["h", right]], right, "hx")).encode()
    try:
        ours = BpeTokenizer(import_model(data))
    except InputError:
        assert right in ("éé", "éx", "e", "x")
        return
    ids = tokenizers.Tokenizer.from_buffer(data).encode("hello heh", add_special_tokens=False).ids
    assert ours.encode("hello heh").tolist() == ids


KINDS = {
    "json": json.dumps(byte_level()).encode(),
    "characters": json.dumps(characters()).encode(),
    "ranks": rank_data(),
    "tekken": json.dumps(tekken()).encode(),
    "sentencepiece": sentencepiece_data(2, byte_fallback=True),
    "minbpe": MINBPE,
    "own": save_bytes(import_model(rank_data(), pattern="gpt2")),
}


@settings(max_examples=examples(150), deadline=None)
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
