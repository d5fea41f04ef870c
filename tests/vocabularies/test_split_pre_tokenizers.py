"""Pre-tokenizers of tokenizer.json, compiled: the pieces of `tokenizers`, removed and merged ones too."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles.splitting import POINTS, needs_the_tables
from published_patterns import PRE_TOKENIZERS, byte_level, sequence, split
from pyharness import _core
from pyharness.bpe import BpeTokenizer, import_model
from pyharness.bpe.encoding.pre_tokenizer import PreTokenizer
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.pre_tokenizer import tables_of
from pyharness.vocabularies.patterns.syntax import Uncompilable
from tokenizer_files import byte_level as byte_level_file

BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
STAGES: dict[str, dict[str, Any]] = {
    **PRE_TOKENIZERS,
    "Whitespace": {"type": "Whitespace"},
    "WhitespaceSplit": sequence({"type": "WhitespaceSplit"}),
    "BertPreTokenizer": {"type": "BertPreTokenizer"},
    "digits": {"type": "Digits", "individual_digits": False},
    **{f"punctuation {name}": {"type": "Punctuation", "behavior": name} for name in BEHAVIORS},
    **{f"class {name}": split("[a-c]", name) for name in BEHAVIORS},
    **{f"runs {name}": split(r"\s+", name) for name in BEHAVIORS},
    **{f"string {name}": split(".", name, kind="String") for name in BEHAVIORS},
    "long string": split("ab", kind="String"),
    "inverted": split("ab|[ .]", "Removed", invert=True),
    "contiguous, inverted": split("[a-c]", "Contiguous", invert=True),
    "several": sequence(split(r"\p{N}"), split(r"\s+", "Removed"), {"type": "Digits", "individual_digits": True}),
}


def is_byte_level(stage: dict[str, Any]) -> bool:
    return "ByteLevel" in json.dumps(stage)


@cache
def compiled(name: str) -> _core.CompiledSplitter:
    return _core.CompiledSplitter(tables_of(STAGES[name], byte_level=is_byte_level(STAGES[name])))


@cache
def library(name: str) -> Any:
    from tokenizers import Tokenizer

    stub = {"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": STAGES[name]}
    return Tokenizer.from_str(json.dumps(stub)).pre_tokenizer


def ours(name: str, text: str) -> list[bytes]:
    (data,), ends, _ = _core.split_and_remove(compiled(name), [text])
    return [data[start:end] for start, end in pairwise([0, *ends.tolist()])]


def theirs(name: str, text: str) -> list[bytes]:
    spell = alphabet_bytes if is_byte_level(STAGES[name]) else str.encode
    return [spell(piece) for piece, _ in library(name).pre_tokenize_str(text)]


@settings(max_examples=examples(60), deadline=None)
@given(st.text(st.sampled_from("abcdABC  .,'\n\t0123!?s…。½²éмир中\u0301\u0085١ſK-<|>_"), max_size=60))
def test_pieces_are_those_of_tokenizers(text: str) -> None:
    for name in STAGES:
        assert ours(name, text) == theirs(name, text), name


@needs_the_tables("tokenizers")
@pytest.mark.parametrize("name", [*PRE_TOKENIZERS, "BertPreTokenizer", "Whitespace", "digits"])
def test_code_points_in_context(name: str) -> None:
    for context in ("a{}b ", "1{}2\n", " {} ", ".{}!"):
        for start in range(0, len(POINTS), 80_000):  # `tokenizers` takes the square of the time for a long text
            text = "".join(context.format(point) for point in POINTS[start : start + 80_000 : 97])
            assert ours(name, text) == theirs(name, text), context


def test_every_digit_and_punctuation_is_that_of_tokenizers() -> None:
    for name in ("digits", "punctuation Isolated"):
        lone = _core.split_texts(compiled(name), [f"a{point}" for point in POINTS[::61]])[1]
        found = [point for point, count in zip(POINTS[::61], (lone[1:] - lone[:-1]).tolist(), strict=True) if count > 1]
        assert found == [point for point in POINTS[::61] if len(theirs(name, f"a{point}")) > 1], name


NOT_COMPILED = {
    "more than one class": split("ab", "Contiguous"),
    "a space before the text": {"type": "ByteLevel", "add_prefix_space": True},
    "bytes of bytes": sequence(byte_level(use_regex=False), byte_level(use_regex=True)),
    "a UnicodeScripts step": {"type": "UnicodeScripts"},
    "a pattern that is not text": split("", kind="String"),
    "may match nothing|can match nothing": split("a*"),
    "nothing is cut": byte_level(use_regex=False),
    "looks back": split("^a"),
}


@pytest.mark.parametrize("reason", NOT_COMPILED)
def test_what_the_library_splits(reason: str) -> None:
    stage = NOT_COMPILED[reason]
    with pytest.raises(Uncompilable, match=reason):
        tables_of(stage, byte_level=is_byte_level(stage))


def test_pre_tokenizer_takes_tables_where_it_can() -> None:
    isolated = PreTokenizer(PRE_TOKENIZERS["falcon"], byte_level=True)
    assert isolated.splitter is not None
    assert isolated.splitter.engine == "compiled"
    removing = PreTokenizer(PRE_TOKENIZERS["clip"], byte_level=True)
    assert (removing.splitter, removing.reason) == (None, "")
    data, pieces = removing.split(["it's a  dog", "", "x"], [True] * 3)
    assert data == [b"it'sadog", b"", b"x"]
    assert pieces.ends.tolist() == [2, 4, 5, 8, 1]
    assert pieces.offsets.tolist() == [0, 4, 4, 5]
    scripts = PreTokenizer({"type": "UnicodeScripts"}, byte_level=False)
    assert scripts.reason == "a UnicodeScripts step"


@pytest.mark.parametrize("name", ["starcoder", "falcon", "bloom", "clip"])
def test_ids_and_notes_of_a_file(name: str) -> None:
    from tokenizers import Tokenizer

    content = {**byte_level_file(), "pre_tokenizer": PRE_TOKENIZERS[name]}
    tokenizer = BpeTokenizer(import_model(json.dumps(content).encode()))
    assert "split pattern compiled" in tokenizer.notes
    reference = Tokenizer.from_str(json.dumps(content))
    reference.no_padding()
    reference.no_truncation()
    for text in ("hello hello 1234567 the, theм½²", "", "  ", "a b\n\nc 999"):
        expected = reference.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text).tolist() == expected
        assert tokenizer.encode_batch([text, text]).document(1).tolist() == expected
