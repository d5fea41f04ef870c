"""Exports give the same ids in the library that reads them."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from bpe_models import (
    PATTERNS,
    SPECIAL,
    TEXT,
    character_model,
    encode,
    minbpe_encode,
    random_model,
    same,
    sample,
    texts,
    trained_model,
)
from cases.model_files import unreachable_tokens
from layout.thoroughness import examples
from oracles import bpe as oracle
from pyharness.bpe.encoding.encoders import BpeEncoder
from pyharness.bpe.formats.exports import export_model, single_expression
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import canonical_rules
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies import rank_file
from pyharness.vocabularies.minbpe_file import read_minbpe

Encode = Callable[[str], list[int]]


def in_tokenizers(data: bytes) -> Encode:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra `engines` is not installed")
    library = tokenizers.Tokenizer.from_buffer(data)
    library.encode_special_tokens = True
    return lambda text: library.encode(text, add_special_tokens=False).ids


def in_tiktoken(model: BpeModel, data: bytes) -> Encode:
    tiktoken: Any = pytest.importorskip("tiktoken", reason="the extra `engines` is not installed")
    library = tiktoken.Encoding(
        "exported",
        pat_str=single_expression(model),
        mergeable_ranks=rank_file.read_ranks(data, "exported"),
        special_tokens=dict(model.special),
    )
    return library.encode_ordinary  # type: ignore[no-any-return]


def check(model: BpeModel, encoder: Encode, count: int = 150) -> None:
    for text in texts(count):
        assert encoder(text) == encode(model, text), repr(text)


@pytest.mark.parametrize("pattern", [*PATTERNS, "o200k", "llama3", "qwen2", "deepseek_v3", "tekken"])
def test_tokenizer_json_gives_the_same_ids(pattern: str) -> None:
    model = trained_model("cl100k") if pattern not in PATTERNS else trained_model(pattern)
    model = dataclasses.replace(model, splitter=pattern)
    data = export_model(model, "tokenizer.json")
    check(model, in_tokenizers(data))
    again = import_model(data)
    assert again.splitter == pattern
    assert again.special == model.special
    for text in texts(20):
        assert encode(again, text) == encode(model, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rank_file_gives_the_same_ids(pattern: str) -> None:
    model = trained_model(pattern)
    data = export_model(model, "tiktoken")
    check(model, in_tiktoken(model, data))
    again = import_model(data, pattern=pattern, special=model.special)
    for text in texts(20):
        assert encode(again, text) == encode(model, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_minbpe_file_gives_the_same_ids(pattern: str) -> None:
    model = trained_model(pattern)
    data = export_model(model, "minbpe")
    file = read_minbpe(data, "exported")
    assert file.special == {SPECIAL[0]: 700, SPECIAL[1]: 701}
    assert (file.pattern == "") == (pattern == "none")
    check(model, lambda text: minbpe_encode(file, text), 60)
    again = import_model(data)
    assert same(dataclasses.replace(again, origin=model.origin), model)


@settings(max_examples=examples(150), deadline=None)
@given(TEXT)
def test_any_text(text: str) -> None:
    for pattern in ("gpt2", "cl100k"):
        model = trained_model(pattern)
        expected = encode(model, text)
        for kind, load in _LOADERS.items():
            assert load(pattern)(text) == expected, kind


def _loaded(kind: str) -> Callable[[str], Encode]:
    known: dict[str, Encode] = {}

    def load(pattern: str) -> Encode:
        if pattern not in known:
            model = trained_model(pattern)
            data = export_model(model, kind)  # type: ignore[arg-type]
            known[pattern] = _in_library(kind, model, data)
        return known[pattern]

    return load


_LOADERS = {kind: _loaded(kind) for kind in ("tokenizer.json", "tiktoken")}


@pytest.mark.parametrize("kind", ["tokenizer.json", "tiktoken", "minbpe"])
def test_any_model_gives_the_same_ids_or_is_refused(kind: Any) -> None:
    generator = random.Random(7)
    written = 0
    for seed in range(120):
        model = random_model(seed)
        try:
            data = export_model(model, kind)
        except InputError:
            continue
        written += 1
        encoder = _in_library(kind, model, data)
        for _ in range(25):
            text = "".join(generator.choices("aaabbcc ", k=generator.randrange(1, 12)))
            assert encoder(text) == encode(model, text), (seed, text)
    assert 15 < written < 120


def _in_library(kind: str, model: BpeModel, data: bytes) -> Encode:
    if kind == "minbpe":
        file = read_minbpe(data, "exported")
        return lambda text: minbpe_encode(file, text)
    return in_tokenizers(data) if kind == "tokenizer.json" else in_tiktoken(model, data)


def test_special_tokens_in_tokenizers() -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra `engines` is not installed")
    library = tokenizers.Tokenizer.from_buffer(export_model(trained_model("none"), "tokenizer.json"))
    assert library.encode(f"a{SPECIAL[1]}").ids == [97, 701]
    assert library.decode([97, 701, 98], skip_special_tokens=False) == f"a{SPECIAL[1]}b"
    for text in texts(50):
        ids = library.encode(text).ids
        assert library.decode(ids, skip_special_tokens=False) == text


def test_characters_in_tokenizers() -> None:
    model = character_model()
    data = export_model(model, "tokenizer.json")
    encoder, again = in_tokenizers(data), import_model(data)
    assert again.alphabet == model.alphabet
    assert again.unknown == model.unknown
    merges = BpeEncoder(model.merges)
    for text in sample()[:100:5]:
        pieces = [piece.decode() for piece in TextSplitter("gpt2").split(text)]
        base = [np.array([model.alphabet[c.encode()] for c in piece], np.uint32) for piece in pieces]
        assert encoder(text) == [token for symbols in base for token in merges.encode(symbols).tolist()]


@pytest.mark.data
@pytest.mark.parametrize("name", ["p50k_base", "cl100k_base", "whisper_multilingual"])
def test_published_rank_files(data: Path, name: str) -> None:
    """One with gaps, one of another pattern, one with an empty token."""
    path = data / "tokenizers" / "tiktoken" / f"{name}.tiktoken"
    model = import_model(path)
    ours = rank_file.read_ranks(export_model(model, "tiktoken"), "exported")
    assert ours == rank_file.read_ranks(path.read_bytes(), "original")
    tiktoken, tokenizers = in_tiktoken(model, path.read_bytes()), in_tokenizers(export_model(model, "tokenizer.json"))
    for text in texts(120):
        assert tokenizers(text) == tiktoken(text) == encode(model, text), repr(text)
    with pytest.raises(InputError, match="minbpe"):
        export_model(model, "minbpe")


@pytest.mark.data
@pytest.mark.parametrize("folder", ["gpt_neox", "deepseek_v3", "claude_legacy", "yi"])
def test_published_tokenizer_files(data: Path, folder: str) -> None:
    """NFC with added spaces, three Split steps, NFKC, and characters with byte fallback."""
    path = data / "tokenizers" / folder / "tokenizer.json"
    exported, original = (
        in_tokenizers(export_model(import_model(path), "tokenizer.json")),
        in_tokenizers(path.read_bytes()),
    )
    for text in texts(120):
        assert exported(text) == original(text), repr(text)


@pytest.mark.data
def test_gpt2_as_ranks(data: Path) -> None:
    model = import_model(data / "tokenizers" / "gpt2" / "tokenizer.json")
    r50k = (data / "tokenizers" / "tiktoken" / "r50k_base.tiktoken").read_bytes()
    exported = rank_file.read_ranks(export_model(model, "tiktoken"), "exported")
    assert exported == rank_file.read_ranks(r50k, "r50k")


@pytest.mark.parametrize("seed", range(examples(60)))
def test_canonical_rules_give_the_ids_of_any_model(seed: int) -> None:
    """Random vocabularies with unreachable tokens and rules nobody trained, against the definition."""
    generator = np.random.default_rng(seed)
    tokens = {byte: bytes([byte]) for byte in range(256)}
    while len(tokens) < 275:
        data = bytes(generator.choice([97, 98, 99], generator.integers(2, 6)).tolist())
        if data not in tokens.values():
            tokens[len(tokens)] = data
    ranks = {token: token for token in range(256, len(tokens))}
    model = oracle.model(tokens, ranks=ranks)
    rules = canonical_rules(model)
    by_rules = oracle.model(tokens, rules=[tuple(rule) for rule in rules.tolist()])
    for _ in range(40):
        piece = generator.choice([97, 98, 99], generator.integers(1, 14)).tolist()
        expected = oracle.encode_ranks(piece, tokens, ranks)
        assert BpeEncoder(by_rules).encode(np.array(piece, np.uint32)).tolist() == expected


def test_unreachable_tokens_are_whole_pieces_in_tokenizers() -> None:
    model = unreachable_tokens()
    assert any(re.match("1 .*whole piece", note) for note in model.notes)
    data = export_model(model, "tokenizer.json")
    assert json.loads(data)["model"]["ignore_merges"]
    encoder = in_tokenizers(data)
    for text in ("abcd", "abcde", "ab bc abc", "x abcd"):
        assert encoder(text) == encode(model, text)
    assert encoder("abcd") == [258]
