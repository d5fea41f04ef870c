"""Documents that are parts of works: shards keep a work on one side, whatever its order and in whatever file it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyharness.corpora import keyed, open_corpus
from pyharness.types import InputError, Tally
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
        ({"text": "a", "id": "b"}, "book", r"no field 'book'; it has 'text', 'id': choose one with \?work="),
        ({"text": "a", "book": ["b"]}, "book", "field 'book' is a list, which names no work"),
        ({"text": "a", "book": True}, "book", "field 'book' is a boolean, which names no work"),
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


def test_plain_text_has_no_works(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    with pytest.raises(InputError, match="work= does not apply to"):
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
