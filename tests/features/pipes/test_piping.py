"""Documents in parts: the ids are those of the whole, to the last integer, and memory does not grow with the text."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpe_models import ATOMS, SPECIAL, texts, trained_model
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.bpe.encoding.safe_cuts import SafeCuts
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.own_file import save
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.features.pipes import documents, ids
from pyharness.features.pipes.ids import PART_BYTES
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from tokenizer_files import sentencepiece_data

PATTERNS = sorted(set(SPLIT_PATTERNS) - {"none"})
# A character or two of every kind that the patterns tell apart, and of those that cuts are made at.
KINDS = ("a", "B", "ß", "中", "が", "・", "é", "\u0301", "\u0958", "7", "²", "一", " ", "\n", "\r", "\t", "\u3000",
         "\u00a0", "\u0085", "\x1c", "\x01", "'", "'s", "/", ".", "!", "_", "，", "$", "\U0001f642", "ǅ")  # fmt: skip


@cache
def tokenizer(pattern: str) -> BpeTokenizer:
    return BpeTokenizer(trained_model(pattern))


def cuts_of(pattern: str) -> SafeCuts:
    cuts = tokenizer(pattern).safe_cuts()
    assert cuts is not None
    return cuts


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_cut_changes_no_piece_in_any_context(pattern: str) -> None:
    """Many texts of up to eight characters, one of each kind; all texts of two beside each other are among them."""
    splitter, cuts, generator = TextSplitter(pattern), cuts_of(pattern), random.Random(7)
    pairs = list(itertools.product(KINDS, repeat=2))
    longer = [generator.choices(KINDS, k=generator.randrange(3, 9)) for _ in range(12_000)]
    met = 0
    for characters in (*pairs, *longer):
        data = "".join(characters).encode()
        place = cuts.last(data)
        if place:
            met += 1
            assert splitter.split(data[:place]) + splitter.split(data[place:]) == splitter.split(data), data
    assert met > 1500


def in_parts(one: BpeTokenizer, data: bytes, size: int, *, special: bool = False, longest: int = 1 << 20) -> Any:
    cuts = documents.safe_cuts(one, special)
    parts = list(documents.parts([("x", io.BytesIO(data))], False, cuts, size=size, longest=longest))
    assert b"".join(part.data for part in parts) == data
    assert [part.at for part in parts] == list(itertools.accumulate([0, *(len(part.data) for part in parts[:-1])]))
    assert [part.ends for part in parts] == [False] * (len(parts) - 1) + [True]
    ids = [ids for ids, _ in documents.encoded(one, parts, special=special)]
    return np.concatenate(ids).tolist(), len(parts)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(
    text=st.lists(st.sampled_from(ATOMS) | st.sampled_from(KINDS) | st.text(max_size=6), max_size=40).map("".join),
    size=st.integers(1, 40),
    noise=st.binary(max_size=3),
)
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_ids_of_parts_are_those_of_the_whole(pattern: str, text: str, size: int, noise: bytes) -> None:
    half = len(text) // 2
    data = text[:half].encode() + noise + text[half:].encode()
    assert in_parts(tokenizer(pattern), data, size)[0] == tokenizer(pattern).encode(data).tolist()


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "deepseek_v3"])
@given(
    text=st.lists(st.sampled_from(ATOMS) | st.sampled_from(KINDS), max_size=40).map("".join), size=st.integers(1, 40)
)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_ids_of_parts_are_those_of_the_whole_in_normal_form(pattern: str, text: str, size: int) -> None:
    one, data = normalising(pattern), text.encode()
    assert in_parts(one, data, size)[0] == one.encode(data).tolist()


@cache
def normalising(pattern: str) -> BpeTokenizer:
    return BpeTokenizer(dataclasses.replace(trained_model(pattern), normalizer={"type": "NFC"}))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_real_text_is_cut_often(pattern: str) -> None:
    data = "\n".join(texts(200)).encode()
    ids, parts = in_parts(tokenizer(pattern), data, 64)
    assert ids == tokenizer(pattern).encode(data).tolist()
    assert parts > len(data) / 400


@given(
    text=st.lists(st.sampled_from((*ATOMS, *SPECIAL, "<|pad", "|>", "<|")), max_size=40).map("".join),
    size=st.integers(1, 30),
)
@settings(max_examples=examples(200), deadline=None)
def test_special_tokens_are_not_cut(text: str, size: int) -> None:
    one, data = tokenizer("o200k"), text.encode()
    assert in_parts(one, data, size, special=True)[0] == one.encode(data, allowed_special="all").tolist()


@pytest.mark.parametrize("pattern", ["none", r"\w+|\W+"])
def test_what_may_not_be_cut_is_held_up_to_a_limit(pattern: str) -> None:
    one = BpeTokenizer(trained_model("none")) if pattern == "none" else None
    if one is None:
        one = BpeTokenizer(dataclasses.replace(trained_model("gpt2"), splitter=pattern))
    assert one.safe_cuts() is None
    assert in_parts(one, b"ab cd " * 20, 7, longest=200)[0] == one.encode(b"ab cd " * 20).tolist()
    with pytest.raises(InputError, match=r"x has more than 100 bytes\b.*--max-document-bytes\b.*--lines"):
        in_parts(one, b"ab cd " * 20, 7, longest=100)


def test_text_without_a_place_to_cut_is_held_up_to_a_limit() -> None:
    one = tokenizer("gpt2")
    assert in_parts(one, b"a" * 90, 7, longest=100)[0] == one.encode(b"a" * 90).tolist()
    with pytest.raises(InputError, match=r"x has 1\d\d bytes\b.*\bbyte 3\b.*--max-document-bytes"):
        in_parts(one, b"a b " + b"a" * 200, 3, longest=100)


def test_dropout_wants_documents_whole() -> None:
    assert BpeTokenizer(trained_model("gpt2"), dropout=0.1).safe_cuts() is None


@pytest.mark.parametrize("form", ["text", "json", "uint32"])
@given(
    documents=st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=30), max_size=5),
    size=st.integers(1, 50),
    step=st.integers(1, 9),
)
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_in_parts_is_read_in_parts(
    form: ids.IdFormat, documents: list[list[int]], size: int, step: int
) -> None:
    parts = [
        (np.array(one[start : start + step], np.uint32), start + step >= len(one))
        for one in documents
        for start in range(0, max(len(one), 1), step)
    ]
    data = b"".join(ids.written(parts, form))
    if form == "json":
        assert [json.loads(line) for line in data.splitlines()] == documents
    elif form == "text":
        assert data.decode() == "".join(" ".join(map(str, one)) + "\n" for one in documents)
    found = list[list[int]]([[]])
    for part in ids.ids_of([("x", io.BytesIO(data))], form, size=size):
        found[-1] += part.ids.tolist()
        if part.ends:
            found.append([])
    assert found.pop() == []
    assert found == (documents if form != "uint32" else [[token for one in documents for token in one]])


@pytest.mark.parametrize(
    ("form", "data", "said"),
    [
        ("text", b"1 " * 300 + b"x 2", "x line 1: 'x' .*not an id"),
        ("text", b"1 " * 300 + b"4294967296", "'4294967296' .*not an id"),
        ("text", b"12345678901234567890" * 40, "12345678901234567890.*not an id"),
        ("json", b"[" + b"1, " * 300 + b"x]", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"2", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"]", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"01]", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"1.5]", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"4294967296]", "x line 1 .*list of ids"),
        ("json", b"1, " * 300 + b"1]", "x line 1 .*list of ids"),
        ("json", b"[" + b"1, " * 300 + b"1]]", "x line 1 .*list of ids"),
        ("json", b"[" * 1000, "not"),
        ("uint32", b"abc" * 301, "903 bytes"),
    ],
)
def test_long_lines_that_are_no_ids_are_refused(form: ids.IdFormat, data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list(ids.ids_of([("x", io.BytesIO(data))], form, size=64))


@given(text=st.lists(st.sampled_from(ATOMS), max_size=30).map("".join), step=st.integers(1, 5))
@settings(max_examples=examples(60), deadline=None)
def test_bytes_of_parts_are_those_of_the_whole(text: str, step: int) -> None:
    one = tokenizer("gpt2")
    ids = one.encode(text.encode() + b"\xff")
    parts = [ids[start : start + step] for start in range(0, len(ids), step)]
    assert b"".join(one.decode_parts(parts)) == one.decode(ids)


def test_a_leading_space_is_dropped_once(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(sentencepiece_data(2, byte_fallback=True))
    one = tokenizers.load(f"native+file:{path}")
    assert isinstance(one, BpeTokenizer)
    assert one.model.drop_space, "or else nothing is tested"
    ids = one.encode("hello hello")
    for step in (1, 2, 100):
        parts = [ids[start : start + step] for start in range(0, len(ids), step)]
        assert b"".join(one.decode_parts([ids[:0], *parts])) == one.decode(ids)


def test_documents_that_a_library_decodes_whole_have_a_limit() -> None:
    one = tokenizers.load("raw_bytes")

    def decoded(longest: int) -> bytes:
        parts = ids.ids_of([("x", io.BytesIO(b"97 " * 100 + b"\n98\n"))], "text", size=10)
        return b"".join(ids.decoded(one, parts, b"|", longest=longest))

    assert decoded(400) == b"a" * 100 + b"|b|"
    with pytest.raises(InputError, match=r"x line 1 has more than 99 ids\b.*--max-document-bytes"):
        decoded(399)


PEAK = """
import os, subprocess, sys
process = subprocess.Popen([sys.executable, "-P", "-m", "pyharness", *sys.argv[2:]], stdout=open(sys.argv[1], "wb"))
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak(out: Path, *arguments: object) -> int:
    """Peak memory of a command that must succeed, in MB."""
    command = [sys.executable, "-c", PEAK, str(out), *map(str, arguments)]
    status, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert status == "0"
    return int(memory) // 1024


def test_memory_does_not_grow_with_a_document(tmp_path: Path) -> None:
    """One line of 32 MB: held whole, its ids in text alone took 0.9 GB more than an empty one."""
    model, text, ids, back = (tmp_path / name for name in ("model.json", "text", "ids", "back"))
    save(trained_model("gpt2"), model)
    text.write_bytes(b"")
    base = peak(ids, "encode", model, text)
    text.write_bytes(" ".join(texts(300)).replace("\n", " ").encode() * (32_000_000 // 40_000))
    assert text.stat().st_size > 16_000_000
    assert peak(ids, "encode", model, text) < base + 160
    assert peak(back, "decode", model, ids) < base + 160
    assert back.stat().st_size == text.stat().st_size
    assert ids.stat().st_size > 10 * PART_BYTES
