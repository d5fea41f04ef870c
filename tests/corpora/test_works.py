"""Documents that are parts of works: shards keep a work on one side, whatever its order and in whatever file it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.benchmarks.fairness import add_rows
from pyharness.corpora import keyed, open_corpus, streaming
from pyharness.metrics.fairness import FairnessState
from pyharness.statistics.jackknife import group_of
from pyharness.types import InputError, ParallelCorpus, Tally
from texts import read

BOOKS = [f"Book {number}" for number in range(42)]
# Chapters of all books in turn: no work lies in one stretch of the file.
ROWS = [{"text": f"{book}, {part}", "id": f"{book}#{part}", "of": book} for part in range(3) for book in BOOKS]


def rows(path: Path, given: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in given), encoding="utf-8")
    return f"path:{path}"


def works(spec: str) -> set[str]:
    return {text.rpartition(",")[0] for text in read(spec)[0]}


@pytest.mark.parametrize("field", ["id", "of"])
def test_a_work_is_on_one_side(tmp_path: Path, field: str) -> None:
    text = f"{rows(tmp_path / 'a.jsonl', ROWS)}?work={field}"
    parts = [read(f"shard:{index}/5:{text}")[0] for index in range(5)]
    assert sorted(one for part in parts for one in part) == sorted(row["text"] for row in ROWS)
    assert [len(part) for part in parts] == [3 * len(works(f"shard:{index}/5:{text}")) for index in range(5)]
    assert all(parts), "42 works, and a part without any"
    without = text.partition("?")[0]
    assert works(f"shard:0/5:{without}") & works(f"shard:1-4/5:{without}"), "dealt out by document"


def test_the_name_of_a_work_decides_and_not_its_place(tmp_path: Path) -> None:
    text = f"{rows(tmp_path / 'a.jsonl', ROWS)}?work=id"
    other = rows(tmp_path / "b.jsonl", [{"text": row["text"] + "!", "of": row["of"]} for row in reversed(ROWS[:70])])
    assert works(f"shard:0/3:{other}?work=of") == works(f"shard:0/3:{text}")
    assert works(f"shard:0/3:{other}?work=of&max_bytes=300") < works(f"shard:0/3:{text}")


def test_parts_of_parts_keep_works_and_cut_documents_whole(tmp_path: Path) -> None:
    text = f"{rows(tmp_path / 'a.jsonl', ROWS)}?work=id&max_document_bytes=4"
    pieces = [piece for index in range(2) for piece in keyed(open_corpus(f"shard:{index}/2:{text}"), Tally())]
    assert sum(piece.opens for piece in pieces) == len(ROWS)
    assert {piece.work for piece in pieces} == set(BOOKS)
    half = {piece.work for piece in keyed(open_corpus(f"shard:0/2:shard:1-4/5:{text}"), Tally())}
    assert half < {piece.work for piece in keyed(open_corpus(f"shard:1-4/5:{text}"), Tally())}


def test_several_parts_are_the_parts(tmp_path: Path) -> None:
    text = f"{rows(tmp_path / 'a.jsonl', ROWS)}?work=id"
    for spec in (text, "sample:prose"):
        some, tally = read(f"shard:1-3/4:{spec}")
        alone = [read(f"shard:{index}/4:{spec}") for index in (1, 2, 3)]
        assert sorted(some) == sorted(one for found, _ in alone for one in found)
        first = read(f"shard:0/4:{spec}")[1]
        first.merge(tally)
        assert first == read(spec)[1]


def test_documents_without_a_work_are_dealt_out_one_by_one(tmp_path: Path) -> None:
    text = rows(tmp_path / "a.jsonl", [{**row, "of": None} for row in ROWS])
    assert [read(f"shard:{index}/5:{text}?work=of")[0] for index in (0, 3)] == [
        [row["text"] for row in ROWS[index::5]] for index in (0, 3)
    ]


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        ({"text": "a", "id": "b"}, "book", r"'book'.*'text', 'id'.*work="),
        ({"text": "a", "book": ["b"]}, "book", "'book' .*list"),
        ({"text": "a", "book": True}, "book", "'book' .*boolean"),
    ],
)
def test_what_names_no_work_is_said(tmp_path: Path, row: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(f"{rows(tmp_path / 'a.jsonl', [row])}?work={field}")


def test_numbers_and_odd_names_are_works(tmp_path: Path) -> None:
    names: list[tuple[str | int, str]] = [(7, "7"), ("", ""), ("C#/x", "C#/x"), ("\ud800#1", "\ufffd"), ("#12", "")]
    for work, known in names:
        text = rows(tmp_path / "a.jsonl", [{"text": "a", "work": work}])
        (piece,) = keyed(open_corpus(f"{text}?work=work"), Tally())
        assert piece.work == known


def groups(spec: str) -> set[int]:
    return {group_of(one.key) for one in streaming.read(open_corpus(spec), Tally())}


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_what_is_one_work_is_one_group(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("\n".join(json.dumps({"text": f"line {number}"}) for number in range(200)), encoding="utf-8")
    spec = f"path:{path}" + "?split=line" * name.endswith(".txt")
    joined = "&" if "?" in spec else "?"
    assert len(groups(spec)) > 16
    assert len(groups(f"{spec}{joined}work=*")) == 1
    assert read(f"{spec}{joined}work=*")[0] == read(spec)[0]


def test_plain_text_has_no_field_with_a_work(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match=r"work=id .*a\.txt.*work=\*"):
        open_corpus(f"path:{tmp_path / 'a.txt'}?work=id")


@pytest.mark.parametrize("split", ["line", "paragraph"])
def test_parts_of_rows_are_documents_with_keys_of_their_own_and_stay_in_their_work(tmp_path: Path, split: str) -> None:
    between = {"line": "\n", "paragraph": "\n \n"}[split]
    given = [{"text": between.join(f"{book}, {part}" for part in range(3)), "of": book} for book in BOOKS]
    text = rows(tmp_path / "a.jsonl", given)
    assert len(read(text)[0]) == len(BOOKS)
    pieces = list(keyed(open_corpus(f"{text}?split={split}"), Tally()))
    assert [piece.text for piece in pieces] == [f"{book}, {part}" for book in BOOKS for part in range(3)]
    assert all(piece.opens and piece.key == piece.text and not piece.work for piece in pieces)
    assert {piece.work for piece in keyed(open_corpus(f"{text}?split={split}&work=of"), Tally())} == set(BOOKS)
    read_ = list(keyed(open_corpus(f"{text}?split={split}&max_document_bytes=4"), Tally()))
    assert sum(piece.opens for piece in read_) == len(pieces), "a part that is cut is one document"


def test_rows_in_a_folder_are_split_like_files(tmp_path: Path) -> None:
    rows(tmp_path / "a.jsonl", [{"text": "a\nb"}])
    (tmp_path / "b.txt").write_text("c\nd", "utf-8")
    assert read(f"path:{tmp_path}?split=line")[0] == ["a", "b", "c", "d"]
    assert read(f"path:{tmp_path}?split=file")[0] == ["a\nb", "c\nd"]


def aligned(tmp_path: Path, kind: str) -> str:
    rows = [({"en": f"row {row}", "de": f"Zeile {row}"}, f"page {row % 40}") for row in range(200)]
    if kind == "jsonl":
        lines = [json.dumps({"text": texts, "of": f"{page}#par_{row}"}) for row, (texts, page) in enumerate(rows)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return f"parallel:{tmp_path / 'a.jsonl'}"
    for language in ("en", "de"):
        (tmp_path / f"{language}.txt").write_text("\n".join(texts[language] for texts, _ in rows), encoding="utf-8")
    table = ["line\tof", *(f"{row}\t{page}" for row, (_, page) in enumerate(rows))]
    (tmp_path / "_meta.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return f"parallel:{tmp_path}"


@pytest.mark.parametrize("kind", ["jsonl", "directory"])
def test_rows_of_aligned_text_are_of_works(tmp_path: Path, kind: str) -> None:
    spec = aligned(tmp_path, kind)
    named, without = open_corpus(f"{spec}?work=of"), open_corpus(spec)
    pieces = list(keyed(named, Tally()))
    assert {piece.work for piece in pieces} == {f"page {page}" for page in range(40)}
    assert [piece.text for piece in pieces] == [piece.text for piece in keyed(without, Tally())]
    assert list(named.documents(Tally())) == list(without.documents(Tally()))
    halves = [
        {piece.work for piece in keyed(open_corpus(f"shard:{half}/2:{spec}?work=of"), Tally())} for half in (0, 1)
    ]
    assert not halves[0] & halves[1]
    assert len(halves[0] | halves[1]) == 40


def test_aligned_files_of_other_systems_are_read_alike(tmp_path: Path) -> None:
    texts = {
        "en.txt": "one\ntwo words\n\nfour",
        "de.txt": "eins\nzwei Wörter\n\nvier",
        "about.tsv": "line\tof\n1\ta\n2\tb\n3\tb\n4\tc",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    expected, tally = (list(keyed(open_corpus(f"parallel:{tmp_path}?work=of"), one := Tally())), one)
    for name, text in texts.items():
        (tmp_path / name).write_text("\ufeff" + text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    assert list(keyed(open_corpus(f"parallel:{tmp_path}?work=of"), again := Tally())) == expected
    assert (len(expected), again.empty_documents) == (6, tally.empty_documents) == (6, 1)


@pytest.mark.parametrize("kind", ["jsonl", "directory"])
def test_fairness_groups_rows_by_work_as_compression_does(tmp_path: Path, kind: str) -> None:
    spec = aligned(tmp_path, kind)
    for given in (f"{spec}?work=of", spec):
        corpus = open_corpus(given)
        assert isinstance(corpus, ParallelCorpus)
        state = FairnessState.empty(corpus.languages, corpus.reference)
        add_rows(state, lambda texts, _: np.ones(len(texts), np.int64), list(corpus.rows(Tally())), Tally())
        held = {int(group) for group in np.flatnonzero(state.rows)}
        assert held == groups(given)


def test_a_table_of_works_fits_its_rows(tmp_path: Path) -> None:
    spec, table = aligned(tmp_path, "directory"), tmp_path / "_meta.tsv"
    with pytest.raises(InputError, match=r"'which'.*'line', 'of'"):
        open_corpus(f"{spec}?work=which")
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    for changed, reason in ((lines[:-1], "row 200"), ([*lines, "x\ty\n"], "more lines")):
        table.write_text("".join(changed), encoding="utf-8")
        with pytest.raises(InputError, match=reason):
            read(f"{spec}?work=of")
    table.unlink()
    with pytest.raises(InputError, match="is missing"):
        open_corpus(f"{spec}?work=of")


def test_a_text_without_a_language_names_no_work(tmp_path: Path) -> None:
    row = {"text": {"en": "one", "de": "eins", "": "all the same"}}
    (tmp_path / "a.jsonl").write_text("\n".join([json.dumps(row)] * 3), encoding="utf-8")
    assert {piece.work for piece in keyed(open_corpus(f"parallel:{tmp_path / 'a.jsonl'}"), Tally())} == {""}
