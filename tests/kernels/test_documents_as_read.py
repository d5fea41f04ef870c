"""Documents as they are read: texts of JSON Lines are those of ``json.loads`` or there is no answer; digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import _core
from pyharness.corpora.files import splitting
from pyharness.corpora.files.jsonl import work_of
from pyharness.corpora.files.reading import decode
from pyharness.corpora.files.splitting import Fragment
from pyharness.kernels.text import JsonTexts, ReadTexts, TextRun, utf8_size
from pyharness.types import digest_of

NAMES = ["text", "id"]
PLAIN = JsonTexts([name.encode() for name in NAMES], 1 << 20, 1 << 20)


def plain(line: bytes) -> tuple[str, str] | None:
    """The text and the work of one line, or None where it is for ``json``."""
    (answer,) = PLAIN.of(line)
    if not isinstance(answer, TextRun):
        assert answer == line
        return None
    ((text, beginning, opens, parted, work),) = answer.pieces()
    assert (beginning, opens, parted) == (text, True, False)
    return text, work


TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\x00\u2028😀é/'), max_size=90)
WORKS = st.text(st.sampled_from("aZ09_#@[`{é "), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(st.tuples(st.sampled_from([*NAMES, "text\n", "other", "ключ"]), VALUES | TEXT | WORKS), max_size=6)
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
    if not all(isinstance(one, str) for one in found):
        return None
    return found[0], work_of(Path("a.jsonl"), 1, row, NAMES[1])


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
    items = PLAIN.of(b"\n".join(lines))
    assert len(items) == len(lines)
    assert [item for item in items if isinstance(item, bytes)] == [line for line in lines if plain(line) is None]
    runs = [(item.pieces(), number) for number, item in enumerate(items) if isinstance(item, TextRun)]
    for pieces, first in runs:
        assert [(text, work) for text, *_, work in pieces] == [plain(line) for line in lines[first:][: len(pieces)]]
        assert items[first + 1 : first + len(pieces)] == [None] * (len(pieces) - 1)
    assert sum(len(pieces) for pieces, _ in runs) == sum(plain(line) is not None for line in lines)


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


def run_of(texts: list[str], limit: int, beginning: int) -> TextRun:
    """Rows with these texts, each of a work of its own or of none."""
    works = [f"w{number // 3}#1" * (number % 3 > 0) for number in range(len(texts))]
    rows = [json.dumps({"text": text, "id": work}) for text, work in zip(texts, works, strict=True)]
    (run, *_) = JsonTexts([b"text", b"id"], limit, beginning).of("\n".join(rows).encode())
    assert isinstance(run, TextRun)
    return run


TEXTS = st.lists(st.text(st.sampled_from("ab é漢😀\n"), max_size=60), min_size=1, max_size=6)


@settings(max_examples=examples(1_000))
@given(texts=TEXTS, limit=st.integers(4, 30), beginning=st.integers(4, 40))
def test_documents_are_cut_as_in_python(texts: list[str], limit: int, beginning: int) -> None:
    run = run_of(texts, limit, beginning)
    fragments = [Fragment(text, work=f"w{number // 3}" * (number % 3 > 0)) for number, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "KEY_BYTES", beginning)
        cuts = list(splitting.pieces(fragments, limit))
    assert run.pieces() == cuts
    size = sum(len(one.text.encode()) for one in cuts)
    assert run.sums() == (size, sum(not one.text for one in cuts), sum(one.parted for one in cuts))


@given(texts=TEXTS, limit=st.integers(4, 30), most=st.integers(0, 200))
def test_a_run_is_taken_up_to_a_number_of_bytes(texts: list[str], limit: int, most: int) -> None:
    run = run_of(texts, limit, 1 << 16)
    part, next_size = run.within(most)
    sizes = [len(text.encode()) for text, *_ in run.pieces()]
    fitting = [n for n in range(len(sizes) + 1) if sum(sizes[:n]) <= most]
    assert part.pieces() == run.pieces()[: fitting[-1]]
    assert next_size == (None if len(part) == len(run) else sizes[len(part)])


@given(TEXTS, st.integers(4, 30), st.integers(1, 60), st.booleans())
def test_batches_of_runs_are_those_of_their_texts(texts: list[str], limit: int, most: int, one_work: bool) -> None:
    run, batches, at = run_of(texts, limit, 1 << 16), [ReadTexts()], 0
    if one_work:
        run.set_work("*")
    while (at := batches[-1].take(run, at, most, "work ")) < len(run):
        assert batches[-1].characters >= most
        batches.append(ReadTexts())
    pieces = [piece for piece in run.pieces() if piece[0]]
    assert [text for batch in batches for text in list(batch)] == [text for text, *_ in pieces]
    for batch in batches:
        mine, pieces = pieces[: len(batch)], pieces[len(batch) :]
        again = ReadTexts()
        for text, beginning, opens, _, work in mine:
            again.add(text, f"work {work}" if work else beginning, opens)
        for one in (batch, again):
            digests, keys = one.digests()
            assert list(map(bytes, digests)) == [digest_of(text) for text, *_ in mine]
            wanted = [f"work {work}" if work else beginning for _, beginning, *_, work in mine]
            assert list(map(bytes, keys)) == [digest_of(key) for key in wanted]
            assert one.opens().tolist() == [piece[2] for piece in mine]
            assert one.sizes().tolist() == [len(text.encode()) for text, *_ in mine]
            assert one.characters == sum(len(text) for text, *_ in mine)
    with pytest.raises(IndexError):
        batches[0][len(batches[0])]
    with pytest.raises(UnicodeEncodeError):
        ReadTexts().add("\ud800", "", True)


def digests_of(texts: list[str]) -> list[bytes]:
    batch = ReadTexts()
    for text in texts:
        batch.add(text, text, True)
    digests, keys = batch.digests()
    assert np.array_equal(digests, keys)
    assert digests.shape == (len(texts), 16)
    return list(map(bytes, digests))


@given(st.lists(st.text(st.characters(codec="utf-8")) | st.integers(0, 700).map("é".__mul__), max_size=12))
def test_digests_of_content(texts: list[str]) -> None:
    """Texts end in, before and behind blocks of 128 bytes, and lanes take up texts of any length."""
    assert digests_of(texts) == [digest_of(text) for text in texts]


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_digests_do_not_depend_on_vectors(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if isa not in _core.instruction_sets():
        pytest.skip(f"{isa} needs another processor")
    monkeypatch.setenv("PYHARNESS_ISA", isa)
    texts = [f"{7 * size % 400:03}" * size for size in range(400)]  # no two lanes have the same words
    texts += [text[:size] for size, text in enumerate(texts)]
    assert digests_of(texts) == [digest_of(text) for text in texts]
    assert digests_of([]) == []
