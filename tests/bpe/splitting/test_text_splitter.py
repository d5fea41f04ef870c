"""Pieces are those of the published expressions in other engines: any text, every code point, real text."""

from __future__ import annotations

import json
import lzma
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import regex
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from layout.thoroughness import examples
from oracles.splitting import (
    NAMES,
    NOTABLE,
    POINTS,
    SPLITTERS,
    cut,
    needs_the_tables,
    regex_pieces,
    same_in_tiktoken,
    stable,
    tokenizers_pieces,
    tokenizers_split,
)
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE, SPLIT_PATTERNS

# ------------------------------------------------------------------------------------------ any text


@cache
def texts() -> st.SearchStrategy[str]:
    """Dense in what the rules look at, long enough for windows of 64 bytes, and sometimes any category."""
    by_category: dict[str, list[str]] = {}
    for character in filter(stable, POINTS):
        by_category.setdefault(unicodedata.category(character), []).append(character)
    anything = st.sampled_from(sorted(by_category)).flatmap(lambda category: st.sampled_from(by_category[category]))
    ascii_notable = [character for character in NOTABLE if character < "\x80"]
    alphabets = [
        st.sampled_from(ascii_notable),
        st.sampled_from(NOTABLE),
        st.one_of(st.sampled_from(NOTABLE), anything),
    ]
    alphabets.append(st.sampled_from("ab '\n.1"))
    return st.one_of([st.lists(alphabet, max_size=size).map("".join) for alphabet in alphabets for size in (12, 150)])


@settings(max_examples=examples(400), deadline=None)
@given(texts())
def test_any_text_as_regex(text: str) -> None:
    for name in NAMES:
        assert SPLITTERS[name].split(text) == regex_pieces(name, text), name


@settings(max_examples=examples(400), deadline=None)
@given(texts())
def test_any_text_as_tokenizers(text: str) -> None:
    for name in NAMES:
        assert SPLITTERS[name].split(text) == tokenizers_pieces(tokenizers_split(name), text), name
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert SPLITTERS["gpt2"].split(text) == tokenizers_pieces(byte_level, text)


TIKTOKEN = [name for name in NAMES if name not in ("deepseek_v3", "none")]


@settings(max_examples=examples(60), deadline=None)  # an encoding takes 10 ms to build
@given(texts())
def test_any_text_as_tiktoken(text: str) -> None:
    for name in TIKTOKEN:
        pieces = SPLITTERS[name].split(text)
        assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, pieces), name
    assert same_in_tiktoken(GPT2_RELEASE, text, SPLITTERS["gpt2"].split(text))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.one_of(texts().map(str.encode), st.binary(max_size=6)), max_size=5).map(b"".join))
def test_invalid_utf8_splits_as_replacement_characters(data: bytes) -> None:
    """Every maximal invalid subpart counts as one U+FFFD, which is how Python decodes it with "replace"."""
    for name in NAMES:
        pieces = SPLITTERS[name].split(data)
        assert b"".join(pieces) == data
        replaced = [piece.decode(errors="replace") for piece in pieces]
        assert replaced == [piece.decode() for piece in SPLITTERS[name].split(data.decode(errors="replace"))], name


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(texts(), max_size=6), st.integers(1, 4))
def test_a_batch_is_its_texts(batch: list[str], threads: int) -> None:
    for splitter in (SPLITTERS["o200k"], TextSplitter(r"\w+")):
        pieces = splitter.split_batch(batch, threads)
        assert pieces.offsets.dtype == pieces.ends.dtype == np.int64
        assert len(pieces) == len(batch)
        for index, text in enumerate(batch):
            assert cut(pieces.of(index).tolist(), text.encode()) == splitter.split(text)
            assert b"".join(splitter.split(text)) == text.encode()


# ------------------------------------------------------------------------------------------ every code point


@cache
def at_class_edges() -> str:
    """Every code point next to one of another category, in Python's version or `regex`'s, and every 251st."""
    unassigned = set(regex.findall(r"\p{Cn}", POINTS))
    kinds = [(unicodedata.category(point), point in unassigned, point in NOTABLE) for point in POINTS]
    edges = {i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]}
    return "".join(POINTS[i] for i in sorted(edges | {i - 1 for i in edges} | set(range(0, len(POINTS), 251))))


CONTEXTS = ("a{}A", " {} ", "1{}2", "!{}!", "\n{}\n", "'{}e", "{}'s", "\u0301{}\u0301", "中{}中", "  {}", "é{}É")


@needs_the_tables("tokenizers")
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek_v3"])
def test_code_points_in_context_as_tokenizers(name: str) -> None:
    points = at_class_edges()
    for context in CONTEXTS:
        text = "\x00\x00\n".join(context.format(point) for point in points)
        assert SPLITTERS[name].split(text) == tokenizers_pieces(tokenizers_split(name), text), context


@needs_the_tables("tiktoken")
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_code_points_in_context_as_tiktoken(name: str) -> None:
    points = at_class_edges()
    for context in CONTEXTS:
        text = "\x00\x00\n".join(context.format(point) for point in points)
        assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, SPLITTERS[name].split(text)), context


CLASSES = {  # a text around a code point that is one piece when the code point is in the class
    r"\p{L}": ("gpt2", "a{}"),
    r"\p{N}": ("gpt2", "1{}"),
    r"\s": ("gpt2", "\t{}"),
    r"[\p{P}\p{S}]": ("deepseek_v3", "。{}"),
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]": ("tekken", "é{}"),
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]": ("tekken", "A{}Bc"),
}


@needs_the_tables("tiktoken")
@pytest.mark.parametrize("expression", CLASSES)
def test_every_code_point_has_the_classes_of_tiktoken(expression: str) -> None:
    single = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("class", pat_str=expression, mergeable_ranks=single, special_tokens={})
    expected = bytes(encoding.encode_ordinary(POINTS)).decode()
    name, context = CLASSES[expression]
    points = regex.sub(r"[\r\n\u3040-\u30ff\u4e00-\u9fa5]", "", POINTS)  # DeepSeek treats this range by itself
    counts = np.diff(SPLITTERS[name].split_batch([context.format(point) for point in points]).offsets)
    found = "".join(point for point, count in zip(points, counts.tolist(), strict=True) if count == 1)
    assert found == "".join(filter(frozenset(points).__contains__, expected))


# ------------------------------------------------------------------------------------------ real text


FILES = ("english/books", "code/python", "code/cpp", "multilingual/ru/dracor_plays", "multilingual/zh/tang_song_poetry")


def sample(path: Path, characters: int = 60_000) -> str:
    parts: list[str] = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            parts.append(json.loads(line)["text"])
            if sum(map(len, parts)) > characters:
                break
    return "".join(parts)[:characters]


@pytest.mark.data
@pytest.mark.parametrize("path", FILES)
def test_real_text(data: Path, path: str) -> None:
    text = sample(data / "corpora" / f"{path}.jsonl.xz")
    for name in NAMES:
        pieces = SPLITTERS[name].split(text)
        if name in TIKTOKEN:
            assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, pieces), name
        else:
            assert pieces == tokenizers_pieces(tokenizers_split(name), text), name


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "name"), [("gpt2", "gpt2"), ("gpt_neox", "gpt2"), ("qwen2_5", "qwen2"), ("deepseek_v3", "deepseek_v3")]
)
def test_real_text_as_tokenizer_files(data: Path, folder: str, name: str) -> None:
    pre_tokenizer = Tokenizer.from_file(str(data / "tokenizers" / folder / "tokenizer.json")).pre_tokenizer
    for path in FILES:
        text = sample(data / "corpora" / f"{path}.jsonl.xz", 50_000)
        assert SPLITTERS[name].split(text) == tokenizers_pieces(pre_tokenizer, text), path
