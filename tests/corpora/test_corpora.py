"""Corpora: specifications, and what all families promise about invalid, empty and over-long text."""

from __future__ import annotations

import codecs
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.corpora import families, open_corpus
from pyharness.corpora.files.reading import decode, decoded
from pyharness.corpora.files.splitting import SPLITS, Fragment, pieces
from pyharness.corpora.options import size
from pyharness.corpora.shards import shard
from pyharness.corpora.streaming import admitted
from pyharness.plugins.specification import CORPUS
from pyharness.types import Tally
from texts import documents, read, write


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("sample", ("sample", "", {})),
        ("sample:prose", ("sample", "prose", {})),
        ("path:/a:b/c?split=line&name=x", ("path", "/a:b/c", {"split": "line", "name": "x"})),
        ("path:a?.txt", ("path", "a?.txt", {})),
        ("path:a?.txt?split=line", ("path", "a?.txt", {"split": "line"})),
        ("path:a%3Fb=c", ("path", "a?b=c", {})),
        ("path:100%25.txt", ("path", "100%25.txt", {})),
        ("path:a?name=50%25%20%26%3D%3F", ("path", "a", {"name": "50% &=?"})),
        ("path:a?split", ("path", "a?split", {})),
        ("path:a?name=", ("path", "a", {"name": ""})),
        ("datasets:a/b?split=train[:10]", ("datasets", "a/b", {"split": "train[:10]"})),
    ],
)
def test_specifications(spec: str, parsed: tuple[str, str, dict[str, str]]) -> None:
    wanted = CORPUS.parse(spec)
    assert (wanted.name, wanted.argument or "", wanted.options) == parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("2MB", 2_000_000), ("2 MB", 2_000_000), ("1.5KiB", 1536), ("3gib", 3 << 30), ("9kB", 9000)],
)
def test_sizes(text: str, expected: int) -> None:
    assert size("max_bytes", text) == expected


OF_FEATURES = {"motions", "ids", "s3", "gs", "hf", "https", "http"}  # gone with their folders


def test_families_are_complete() -> None:
    assert set(families()) - OF_FEATURES == {
        "sample",
        "installed",
        "path",
        "parallel",
        "datasets",
        "repeat",
        "shard",
        "part",
    }
    for family in families().values():
        assert family.summary
        assert family.example.startswith(family.name)
        assert set(CORPUS.parse(family.example).options) <= set(family.options)


def test_importing_and_listing_is_light() -> None:
    code = (
        "import sys, pyharness.corpora as c; c.families(); c.open_corpus('sample');"
        "print([m for m in ('pandas', 'pyarrow', 'zstandard', 'datasets') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


# Bytes that are often almost UTF-8: cut sequences, surrogates, overlong forms, BOMs, separators.
PARTS = [
    b"a",
    b" ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\0",
    "é".encode(),
    "漢".encode(),
    "🙂".encode(),
    "\ufffd".encode(),
]
PARTS += [
    "\u2028".encode(),
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x99",
    b"\xf0\x9f",
    b"\xe6",
    b"\x80",
    b"\xff",
    b"\xed\xa0\x80",
]
PARTS += [b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\n\n", b"\n \t\r\n"]
mostly_text = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=4)), max_size=60).map(b"".join)


def cut_up(data: bytes, block: int) -> Iterator[bytes]:
    return (data[start : start + block] for start in range(0, len(data), block))


def whole_decode(data: bytes) -> tuple[str, int]:
    count = 0

    def replace(error: UnicodeError) -> tuple[str, int]:
        nonlocal count
        count += 1
        assert isinstance(error, UnicodeDecodeError)
        return "\ufffd", error.end

    codecs.register_error("test.counting", replace)
    text = data.decode("utf-8", "test.counting")
    assert text == data.decode("utf-8", "replace")
    return text, count


def streamed(data: bytes, split: str, block: int, limit: int) -> tuple[list[str], Tally]:
    tally = Tally()
    cuts = admitted(pieces(SPLITS[split](decoded(cut_up(data, block))), limit), None, tally)
    return [piece.text for piece in cuts], tally


@given(mostly_text, st.integers(1, 40), st.integers(4, 60))
def test_blocks_and_cuts_do_not_change_a_file(data: bytes, block: int, limit: int) -> None:
    text, replaced = whole_decode(data)
    texts, tally = streamed(data, "file", block, limit)
    assert "".join(texts) == text
    assert tally.replaced_sequences == replaced
    assert tally.cut_documents == (len(text.encode()) > limit)
    assert tally.empty_documents == (not text)
    assert all(0 < len(piece.encode()) <= limit for piece in texts)
    assert streamed(data, "file", 1 << 20, limit) == (texts, tally)


@given(mostly_text, st.integers(1, 40), st.integers(4, 60))
def test_lines_are_those_of_the_whole_text(data: bytes, block: int, limit: int) -> None:
    text, replaced = whole_decode(data)
    expected = text.removesuffix("\n").split("\n") if text else []
    texts, tally = streamed(data, "line", block, 1 << 20)
    assert texts == list(filter(None, expected))
    assert tally.empty_documents == expected.count("")
    assert tally.replaced_sequences == replaced
    cut, cut_tally = streamed(data, "line", block, limit)
    assert "".join(cut) == "".join(texts)
    assert cut_tally.cut_documents == sum(len(line.encode()) > limit for line in expected)
    assert cut_tally.replaced_sequences == replaced


@given(mostly_text, st.integers(1, 40))
def test_paragraphs_are_those_of_the_whole_text(data: bytes, block: int) -> None:
    expected: list[list[str]] = [[]]
    for line in whole_decode(data)[0].split("\n"):
        if line.strip(" \t\r"):
            expected[-1].append(line)
        elif expected[-1]:
            expected.append([])
    texts, tally = streamed(data, "paragraph", block, 1 << 20)
    assert texts == ["\n".join(lines) for lines in expected if lines]
    assert tally.empty_documents == 0


@given(mostly_text)
def test_decoding_at_once_and_in_blocks_agree(data: bytes) -> None:
    assert decode(data) == "".join(decoded(cut_up(data, 1)))


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("ab\ncd ef", 7, ["ab\n", "cd ef"]),
        ("ab cd ef", 7, ["ab cd ", "ef"]),
        ("abcdefgh", 7, ["abcdefg", "h"]),
        ("ééééé", 7, ["ééé", "éé"]),
        ("🙂🙂", 7, ["🙂", "🙂"]),
        ("abcdefg", 7, ["abcdefg"]),
        ("\n" * 9, 7, ["\n" * 7, "\n" * 2]),
    ],
)
def test_cuts_fall_after_a_newline_else_a_space_else_a_code_point(
    text: str, limit: int, expected: list[str], tmp_path: Path
) -> None:
    texts, tally = read(f"path:{write(tmp_path / 'a.txt', text)}?max_document_bytes={limit}")
    assert texts == expected
    assert tally.cut_documents == (len(expected) > 1)


def test_a_long_run_of_spaces_is_text_and_a_short_one_a_blank_line() -> None:
    for spaces, expected in ((1000, ["a", "b"]), (1001, ["a\n" + " " * 1001 + "\nb"])):
        data = b"a\n" + b" " * spaces + b"\nb"
        for block in (1, 7, 1 << 20):
            assert streamed(data, "paragraph", block, 1 << 20)[0] == expected


@given(
    st.lists(st.sampled_from(["", "one", "two words", "\ud800", "x" * 40, "é" * 9]), min_size=1),
    st.integers(1, 5),
)
def test_shards_add_up_to_the_whole(texts: list[str], count: int) -> None:
    class Given:
        name, language, domain, licence, smoke_test = "given", "und", "", "", False

        def documents(self, tally: Tally) -> Iterator[str]:
            cuts = admitted(pieces(map(Fragment, texts), 16), None, tally)
            return (piece.text for piece in cuts)

    whole, tally = documents(Given())
    merged, shards = Tally(), []
    for index in range(count):
        found, part = documents(shard(Given(), index, count))
        shards.append(found)
        merged.merge(part)
    assert merged == tally
    assert [shards[at % count][at // count] for at in range(len(whole))] == whole


def test_a_shard_can_be_opened_by_its_name() -> None:
    by_hand = shard(open_corpus("sample:code?max_bytes=9kB"), 1, 3)
    assert by_hand.name == "shard:1/3:sample:code?max_bytes=9kB"
    assert read(by_hand.name) == documents(by_hand)


def test_the_cap_stops_before_the_document_that_would_exceed_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"12345\n\n12\xff\n1\n")
    for cap, expected, empty, replaced in (
        (5, 1, 1, 0),
        (9, 1, 1, 0),
        (10, 2, 1, 1),
        (11, 3, 1, 1),
        (99, 3, 1, 1),
    ):
        texts, tally = read(f"path:{file}?split=line&max_bytes={cap}")
        assert (len(texts), tally.empty_documents, tally.replaced_sequences) == (expected, empty, replaced)


def test_a_corpus_can_be_read_again_and_left_early(tmp_path: Path) -> None:
    corpus = open_corpus(
        f"path:{write(tmp_path / 'a.txt.gz', gzip.compress(b'one' + bytes([10]) + b'two'))}?split=line"
    )
    assert next(corpus.documents(Tally())) == "one"
    assert documents(corpus) == documents(corpus)
