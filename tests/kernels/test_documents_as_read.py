"""Documents as they are read: strings of JSON Lines are those of ``json.loads`` or there is no answer; digests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import _core
from pyharness.corpora.files.reading import decode
from pyharness.kernels.text import JsonStrings, content_digests, utf8_size
from pyharness.types import digest_of

NAMES = ["text", "id"]
PLAIN = JsonStrings([name.encode() for name in NAMES])


def plain(line: bytes) -> tuple[str, ...] | None:
    """The strings of one line, or None where it is for ``json``."""
    (answer,) = PLAIN.of(line)
    assert isinstance(answer, tuple) or answer == line
    return answer if isinstance(answer, tuple) else None


TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\x00\u2028😀é/'), max_size=90)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(st.tuples(st.sampled_from([*NAMES, "text\n", "other", "ключ"]), VALUES | TEXT), max_size=6)
DAMAGE = st.sampled_from(
    [b'"', b"\\", b"\\u", b"\\ud800", b"\xff", b"\x01", b"{", b"}", b",", b":", b"0", b".", b"e", b" "]
)


def slow(line: bytes) -> Any:
    """What json finds, the last of several fields of a name; None where something is no string, or wrong."""
    try:
        row = json.loads(decode(line))
    except (ValueError, RecursionError):
        return None
    found = tuple(row.get(name) for name in NAMES) if isinstance(row, dict) else (None,)
    return found if all(isinstance(one, str) for one in found) else None


def line_of(row: list[tuple[str, Any]], escaped: bool, spaced: bool) -> bytes:
    """A line, in which a name may come twice."""
    space = " \t" if spaced else ""
    members = (
        f"{json.dumps(name, ensure_ascii=escaped)}{space}:{space}{json.dumps(value, ensure_ascii=escaped)}"
        for name, value in row
    )
    return f"{space}{{{f'{space},{space}'.join(members)}}}{space}".encode()


@settings(max_examples=examples(2_000))
@given(ROWS, st.booleans(), st.booleans())
def test_strings_are_those_of_json(row: list[tuple[str, Any]], escaped: bool, spaced: bool) -> None:
    line = line_of(row, escaped, spaced)
    found, wanted = plain(line), slow(line)
    assert found is None or found == wanted
    short = all(not isinstance(value, int) or abs(value) < 1 << 60 for _, value in row)
    names_escaped = any("\\" in json.dumps(name, ensure_ascii=escaped) for name, _ in row)
    strings = all(isinstance(value, str) for name, value in row if name in NAMES)  # of each name all, not the last
    nested = any(isinstance(value, (list, dict)) for _, value in row)
    if wanted and short and strings and not names_escaped and not nested:
        assert found == wanted  # the fast path is taken where all is plain


@settings(max_examples=examples(3_000))
@given(ROWS, st.booleans(), st.lists(st.tuples(st.integers(0, 400), DAMAGE, st.integers(0, 3)), min_size=1, max_size=3))
def test_damaged_lines_have_no_answer_or_that_of_json(
    row: list[tuple[str, Any]], escaped: bool, damage: list[tuple[int, bytes, int]]
) -> None:
    line = line_of([*row, ("text", "a text"), ("id", "é")], escaped, spaced=False)
    for place, planted, removed in damage:
        at = place % (len(line) + 1)
        line = line[:at] + planted + line[at + removed :]
    found = plain(line)
    assert found is None or found == slow(line)


@given(st.lists(st.tuples(ROWS, st.booleans()) | st.binary(max_size=40), min_size=1, max_size=8))
def test_lines_are_read_one_by_one(rows: list[tuple[list[tuple[str, Any]], bool] | bytes]) -> None:
    lines = [row if isinstance(row, bytes) else line_of(row[0], row[1], spaced=False) for row in rows]
    lines = b"\n".join(lines).split(b"\n")
    assert PLAIN.of(b"\n".join(lines)) == [answer for line in lines for answer in PLAIN.of(line)]


@given(st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"\r")))
def test_any_bytes(data: bytes) -> None:
    for line in (data, b'{"text":"' + data + b'","id":""}', b'{"id":"","text":' + data + b"}"):
        found = plain(line)
        assert found is None or found == slow(line)


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "-Infinity",
        "01",
        "1.",
        "-",
        "+1",
        ".5",
        "1e",
        "tru",
        "1" * 5000,
        "[" * 100_000,
        '"\x1f"',
        "[1,]",
        '{"a":1,}',
        "'a'",
    ],
)
def test_other_fields_are_checked(value: str) -> None:
    assert plain(f'{{"text":"a","id":"b","x":{value}}}'.encode()) is None


def test_long_strings_cross_windows() -> None:
    for size in range(0, 200, 7):
        text = "x" * size + "\n" + "é" * size + '"' + "y" * (size // 2)
        for escaped in (True, False):
            assert plain(line_of([("id", "1"), ("text", text)], escaped, spaced=False)) == (text, "1")


@given(st.text(st.characters()))
def test_size_of_utf8(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        assert utf8_size(text) is None
    else:
        assert utf8_size(text) == size


@given(st.lists(st.text(st.characters(codec="utf-8")) | st.integers(0, 700).map("é".__mul__), max_size=12))
def test_digests_of_content(texts: list[str]) -> None:
    """Texts end in, before and behind blocks of 128 bytes, and lanes take up texts of any length."""
    assert content_digests(texts) == [digest_of(text) for text in texts]
    assert content_digests([text.encode() for text in texts]) == [digest_of(text) for text in texts]


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_digests_do_not_depend_on_vectors(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if isa not in _core.instruction_sets():
        pytest.skip(f"{isa} needs another processor")
    monkeypatch.setenv("PYHARNESS_ISA", isa)
    texts = [f"{7 * size % 400:03}" * size for size in range(400)]  # no two lanes have the same words
    texts += [text[:size] for size, text in enumerate(texts)]
    assert content_digests(texts) == [digest_of(text) for text in texts]
    assert content_digests([]) == []
