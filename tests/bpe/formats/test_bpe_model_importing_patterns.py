"""Pre-tokenizers of tokenizer.json that are patterns of ours, and those that are not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from bpe_models import TEXT, texts
from layout.thoroughness import examples
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.vocabularies.huggingface.pre_tokenizer import pre_tokenizer, split_pattern
from pyharness.vocabularies.patterns.split_patterns import CL100K, GPT4_MINBPE, LLAMA3, SPLIT_PATTERNS
from tokenizer_files import BYTE_LEVEL, byte_level, sequence, split

NATIVE = {
    "nothing": (None, "none"),
    "ByteLevel": ({**BYTE_LEVEL, "use_regex": True}, "gpt2"),
    "ByteLevel of old files": ({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}, "gpt2"),
    "bytes only": (BYTE_LEVEL, "none"),
    "llama3": (sequence(split(LLAMA3), BYTE_LEVEL), "llama3"),
    "nested": (sequence(sequence(split(LLAMA3)), BYTE_LEVEL), "llama3"),
    "characters": (split(LLAMA3), "llama3"),
    "minbpe": (sequence(split(GPT4_MINBPE), BYTE_LEVEL), "llama3"),
    "three": (sequence(*map(split, SPLIT_PATTERNS["deepseek_v3"].expressions), BYTE_LEVEL), "deepseek_v3"),
}
NOT_NATIVE = {
    "tiktoken's cl100k": sequence(split(CL100K), BYTE_LEVEL),  # Oniguruma repeats {1,3}
    "split twice": sequence(split(LLAMA3), {**BYTE_LEVEL, "use_regex": True}),
    "prefix space": {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True},
    "prefix space not said": {"type": "ByteLevel"},
    "merged": sequence(split(LLAMA3, behavior="MergedWithPrevious"), BYTE_LEVEL),
    "removed": sequence(split(LLAMA3, behavior="Removed"), BYTE_LEVEL),
    "inverted": sequence(split(LLAMA3, invert=True), BYTE_LEVEL),
    "string": sequence(split("", pattern={"String": LLAMA3}), BYTE_LEVEL),
    "digits": sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL),
    "metaspace": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
    "unknown": sequence(split(r"\w+"), BYTE_LEVEL),
    "empty": sequence(split(""), BYTE_LEVEL),
    "two of three": sequence(*map(split, SPLIT_PATTERNS["deepseek_v3"].expressions[:2]), BYTE_LEVEL),
    "bytes first": sequence(BYTE_LEVEL, split(LLAMA3)),
    "bytes twice": sequence({**BYTE_LEVEL, "use_regex": True}, BYTE_LEVEL),
    "whole case": sequence(split(LLAMA3.replace("(?i:", "(?:")), BYTE_LEVEL),
    "order": sequence(*map(split, reversed(SPLIT_PATTERNS["deepseek_v3"].expressions)), BYTE_LEVEL),
}


@pytest.mark.parametrize("name", NATIVE)
def test_what_is_native(name: str) -> None:
    stage, expected = NATIVE[name]
    assert split_pattern(stage) == expected


@pytest.mark.parametrize("name", NOT_NATIVE)
def test_what_is_not_native(name: str) -> None:
    assert split_pattern(NOT_NATIVE[name]) is None
    model = import_model(json.dumps({**byte_level(), "pre_tokenizer": NOT_NATIVE[name]}).encode())
    assert model.splitter == NOT_NATIVE[name]
    assert load_bytes(save_bytes(model), "x").splitter == NOT_NATIVE[name]


@pytest.mark.parametrize("byte_level", [True, False])
@pytest.mark.parametrize("name", SPLIT_PATTERNS)
def test_patterns_are_written_and_read(name: str, byte_level: bool) -> None:
    assert split_pattern(pre_tokenizer(name, byte_level=byte_level)) == name


@cache
def library_pre_tokenizer(stage: str) -> Any:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra `engines` is not installed")
    stub = f'{{"model": {{"type": "BPE", "vocab": {{}}, "merges": []}}, "pre_tokenizer": {stage}}}'
    return tokenizers.Tokenizer.from_str(stub).pre_tokenizer


def library_pieces(stage: Any, text: str) -> list[bytes]:
    found = library_pre_tokenizer(json.dumps(stage))
    return [text[start:end].encode() for _, (start, end) in found.pre_tokenize_str(text)] if found else [text.encode()]


@settings(max_examples=examples(120), deadline=None)
@given(TEXT.filter(bool))
@example("a \n  ")
@example("12345 ١٢٣٤ 'ſ 'S")
def test_native_patterns_split_as_tokenizers(text: str) -> None:
    for stage, name in NATIVE.values():
        assert TextSplitter(name).split(text) == library_pieces(stage, text), name
    for name in SPLIT_PATTERNS:
        assert TextSplitter(name).split(text) == library_pieces(pre_tokenizer(name, byte_level=True), text), name


def test_why_tiktokens_spelling_is_not_native() -> None:
    text = "12345678"
    assert TextSplitter("cl100k").split(text) == [b"123", b"456", b"78"]
    assert library_pieces(NOT_NATIVE["tiktoken's cl100k"], text) == [b"12345678"]
    assert TextSplitter("cl100k").split("a \n  ") != TextSplitter("llama3").split("a \n  ")


FILES = ["gpt2", "gpt_neox", "modernbert", "mpt", "claude_legacy", "qwen2_5", "deepseek_v3"]


@pytest.mark.data
@pytest.mark.parametrize("folder", FILES)
def test_files_are_split_as_by_their_library(data: Path, folder: str) -> None:
    stage = json.loads((data / "tokenizers" / folder / "tokenizer.json").read_bytes())["pre_tokenizer"]
    name = split_pattern(stage)
    assert name is not None
    splitter = TextSplitter(name)
    for text in texts(150)[1:]:
        assert splitter.split(text) == library_pieces(stage, text), repr(text)
