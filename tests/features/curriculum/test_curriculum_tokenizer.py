"""A grown vocabulary as a tokenizer and as a file: nothing is lost, and what is damaged is refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles import curriculum as oracle
from pyharness import tokenizers
from pyharness.features.curriculum import model as curriculum_model
from pyharness.features.curriculum.model import CurriculumModel, load, load_bytes, save, save_bytes
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer
from pyharness.metrics import reachability
from pyharness.types import HasModelEncoder, HasVocabulary, InputError, TokenKind
from pyharness.vocabularies.own_file import digest

BYTES = tuple(bytes([byte]) for byte in range(256))
MODEL = CurriculumModel(
    strings=(*BYTES, b"th", b"the", b"\xe6\xbc", " 漢".encode(), b"e "), sizes=(256, 259, 261), special=("<|end|>",),
    origin={"trained_on": {"corpus": "made up"}},
)  # fmt: skip
CHARACTERS = CurriculumModel(
    strings=(b"a", b"b", "é".encode(), b"ab", "éa".encode()), symbols="characters", sizes=(3, 4, 5), special=("<s>",),
    unknown="?",
)  # fmt: skip


@given(st.lists(st.text(st.characters(codec="utf-8")) | st.text("the 漢", max_size=40), max_size=6))
@settings(max_examples=examples(100))
def test_decoding_gives_the_text_back(texts: list[str]) -> None:
    tokenizer = CurriculumTokenizer(MODEL)
    tokens = tokenizer.encode_batch(texts, threads=2)
    assert [tokenizer.decode(tokens.document(index)).decode() for index in range(len(texts))] == texts
    for index, text in enumerate(texts):
        assert np.array_equal(tokenizer.encode_batch([text]).ids, tokens.document(index))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"\xef\xbf\xbd", b"x" * 1_000_000, b"the" * 100_000],
    ids=["empty", "nul", "fffd", "x", "the"],
)
def test_texts_that_break_encoders_come_back(data: bytes) -> None:
    tokenizer = CurriculumTokenizer(MODEL)
    assert tokenizer.decode(tokenizer.encode_batch([data.decode()]).ids) == data


def test_half_a_surrogate_pair_is_the_replacement_character() -> None:
    for model in (MODEL, CHARACTERS):
        tokenizer = CurriculumTokenizer(model)
        halves, whole = tokenizer.encode_batch(["ab\ud800", "a"]), tokenizer.encode_batch(["ab\ufffd", "a"])
        assert halves.ids.tolist() == whole.ids.tolist()


def test_characters_without_a_symbol_are_unknown_or_left_out() -> None:
    tokenizer = CurriculumTokenizer(CHARACTERS)
    assert tokenizer.encode_batch(["abxab", "", "xéa<s>"]).ids.tolist() == [3, 6, 3, 6, 4, 6, 6, 6]
    assert (tokenizer.vocab_size, tokenizer.id_limit, tokenizer.round_trip) == (5, 7, "lossy")
    without = CurriculumTokenizer(dataclasses.replace(CHARACTERS, unknown=None))
    tokens = without.encode_batch(["axb", "x"])
    assert (tokens.ids.tolist(), tokens.offsets.tolist()) == ([3], [0, 1, 1])  # neighbours once x is gone
    (note,) = without.notes
    assert "outside the alphabet" in note
    assert not tokenizer.notes


def test_abilities_and_special_tokens() -> None:
    tokenizer = CurriculumTokenizer(MODEL)
    assert isinstance(tokenizer, HasVocabulary)
    assert isinstance(tokenizer, HasModelEncoder)
    vocabulary = tokenizer.vocabulary()
    assert (vocabulary[257], vocabulary[261]) == (b"the", b"<|end|>")
    assert TokenKind(vocabulary.kinds[261]) is TokenKind.SPECIAL
    assert tokenizer.encode_batch(["<|end|>"]).ids.tolist() == list(b"<|end|>")
    own = tokenizer.encode_model(np.array([257, 258, 0xE6], np.uint32))  # bytes that are no text, too
    assert own.ids.tolist() == [257, 258, 0xE6]
    assert tokenizer.decode(np.array([257, 261], np.uint32)) == b"the<|end|>"
    with pytest.raises(InputError, match=r"id 262\b.*vocabulary.*\b261"):
        tokenizer.decode(np.array([0, 262], np.uint32))


def test_the_self_tokenization_test_finds_what_no_text_of_its_own_gives() -> None:
    strings = ("a", "b", "c", "cb", "ccb", "cac")  # cac is no two strings
    model = CurriculumModel(strings=tuple(one.encode() for one in strings), symbols="characters", sizes=(3, 6))
    tokenizer = CurriculumTokenizer(model)
    failed = [token for token, one in enumerate(strings) if oracle.encode(one, dict(enumerate(strings))) != [token]]
    tested = reachability.examine_model(tokenizer, tokenizer.vocabulary())
    assert tested is not None
    assert tested.failed.tolist() == failed
    assert (tested.tested, failed) == (6, [5])


def test_the_vocabulary_of_a_round_is_the_first_strings() -> None:
    first = MODEL.truncated(259)
    assert (first.strings, first.sizes) == (MODEL.strings[:259], (256, 259))
    assert MODEL.truncated(260).sizes == (256, 259, 260)
    assert MODEL.truncated(261).sizes == MODEL.sizes
    assert CurriculumTokenizer(first).encode_batch(["the e "]).ids.tolist() == [257, 32, 101, 32]
    for size in (255, 262):
        with pytest.raises(InputError, match=rf"261 strings, 256 .*\b{size}$"):
            MODEL.truncated(size)


@pytest.mark.parametrize("model", [MODEL, CHARACTERS], ids=["bytes", "characters"])
def test_a_file_says_all_that_the_model_does(model: CurriculumModel, tmp_path: Path) -> None:
    save(model, tmp_path / "model.json")
    assert dataclasses.asdict(load(tmp_path / "model.json")) == dataclasses.asdict(model)
    row = tokenizers.load(f"file:{tmp_path}")
    text = "the 漢 ab éa"
    assert row.encode_batch([text]).ids.tolist() == CurriculumTokenizer(model).encode_batch([text]).ids.tolist()
    with pytest.raises(InputError, match=r"no rules.*file:PATH"):
        tokenizers.load(f"native+file:{tmp_path}")


def signed(**changed: Any) -> bytes:
    """The file with other members, and the digest to them."""
    content = json.loads(save_bytes(MODEL))
    del content["digest"]
    content.update(changed)
    return json.dumps({"format": content["format"], "digest": digest(content), **content}).encode()


def altered(data: bytes) -> bytes:
    return data.replace(b'"the"', b'"thx"')


def test_the_signed_file_is_one() -> None:
    assert load_bytes(signed(), "it").strings == MODEL.strings


TOKENS = json.loads(save_bytes(MODEL))["tokens"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda: save_bytes(MODEL)[:-100], r"^it .*JSON.*: line \d+ column \d+"),
        (lambda: altered(save_bytes(MODEL)), r"^it .*digest is sha256:.*'sha256:"),
        (lambda: signed(version=2), "is version 2 of pyharness-curriculum"),
        (lambda: signed(format="pyharness-bpe"), "not a pyharness-curriculum file"),
        (lambda: signed(more=1), "unknown member 'more'"),
        (lambda: signed(tokens=[*TOKENS[:-1], "th"]), "it: a string .*twice"),
        (lambda: signed(tokens=[*TOKENS[:-1], ""]), "it: a string .*empty"),
        (lambda: signed(tokens=[*TOKENS[:-1], "th e"]), "' ' .*byte alphabet"),
        (lambda: signed(tokens=[*TOKENS[:-1], 7]), "not a string"),
        (lambda: signed(tokens=TOKENS[1:]), "'sizes' has 261"),
        (lambda: signed(tokens=["x" * 3, *TOKENS[1:]]), "symbols .*256 bytes"),
        (lambda: signed(symbols="characters"), "symbol .*character$"),
        (lambda: signed(symbols="words"), "known: bytes, characters"),
        (lambda: signed(sizes=[256, 250, 261]), r"sizes \[256, 250, 261\] .*261 strings"),
        (lambda: signed(sizes=[]), r"sizes \[\] .*261 strings"),
        (lambda: signed(sizes=[1 << 40]), "'sizes' has 1099511627776"),
        (lambda: signed(special=["<s>", "<s>"]), "it: a special token .*twice"),
        (lambda: signed(special=[3]), "'special'.*string"),
        (lambda: signed(unknown="?"), "256 bytes.*unknown token"),
        (lambda: b"{}", "not a pyharness-curriculum file"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(damage: Callable[[], bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_bytes(damage(), "it")


def test_a_vocabulary_too_large_to_join_is_refused_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    data = save_bytes(MODEL)
    monkeypatch.setattr(curriculum_model, "MOST_BYTES", 260)
    with pytest.raises(InputError, match=r"the most .*\b260$"):
        load_bytes(data, "it")
    monkeypatch.setattr(curriculum_model, "BIGGEST_ID", 200)
    with pytest.raises(InputError, match=r"it has \d+ ids .*the most .*\b200\b"):
        curriculum_model.check(MODEL, "it")
