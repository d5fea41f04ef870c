"""Rows of JSON Lines that the core reads in runs are those of ``json``: texts, keys, counts and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import corpora
from pyharness.corpora import open_corpus, streaming
from pyharness.corpora.files import jsonl, reading, splitting
from pyharness.kernels.text import ReadTexts
from pyharness.types import InputError, Piece, Tally


class AllForJson:
    """Says of no line that it is plain."""

    def __init__(self, *_: Any) -> None:
        pass

    def of(self, lines: bytes) -> list[bytes]:
        return lines.split(b"\n")


TEXTS = st.text(st.sampled_from('ab é漢😀\n\\"'), max_size=50)
WORKS = st.sampled_from(["", "w", "w#1", "w#b_2", "#3", "v#é", "*"]) | TEXTS
PLAIN = st.builds(
    lambda text, work, escaped: json.dumps({"text": text, "id": work, "n": [1]}, ensure_ascii=escaped).encode(),
    TEXTS, WORKS, st.booleans(),
)  # fmt: skip
ODD = st.sampled_from(
    [
        *(b"", b"  ", b"\r", b'{"text": "a"}', b'{"text": null, "id": "w"}', b'{"text": 1, "id": "w"}', b"[1]", b"{"),
        *(b'{"text": "\xff", "id": "w"}', b'{"text": "a", "id": "\xff#1"}', b'{"text": "\\ud800 a", "id": "w"}'),
        *(b'{"text": "a", "text": "b", "id": "w"}', b'{"te\\u0078t": "b", "id": "w"}', b'{"text": "a", "id": 7}'),
        *(b'{"text": "a", "id": null}', b'{"text": "a\\ud83d\\ude00", "id": "w"}\r', b'{"text": "", "id": "w"}'),
        *(b'\xef\xbb\xbf{"text": "a", "id": "w"}', b'{"text": {"a": 1}, "id": "w"}', b'{"id": "w"}'),
    ]
)
FILES = st.lists(PLAIN | ODD | PLAIN, max_size=12).map(b"\n".join)
PARTS = st.sampled_from(["", "part:0/2:", "part:1/2:"])
OPTIONS = st.sampled_from(["", "work=id", "work=*", "split=line", "split=line&work=id", "max_bytes=60", "field=id"])


def read(spec: str) -> Any:
    """All that is read, or the error."""
    tally = Tally()
    try:
        texts = list(corpora.read(open_corpus(spec), tally))
    except InputError as error:
        return str(error)
    pieces = list(corpora.keyed(open_corpus(spec), Tally()))
    assert [piece.text for piece in pieces] == [one.text for one in texts]
    return texts, tally, tally.beginnings, pieces


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    FILES,
    OPTIONS,
    st.integers(4, 40),
    st.sampled_from([8, 64, 1 << 17]),
    st.sampled_from(["", "part:0/2:", "part:1/2:"]),
)
def test_runs_are_what_json_reads(tmp_path: Path, data: bytes, options: str, limit: int, block: int, part: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    if part and "max_bytes" in options:
        part = ""
    spec = f"{part}path:{tmp_path / 'a.jsonl'}?max_document_bytes={limit}&{options}".rstrip("&")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading.parsed_lines, "__defaults__", (block,))
        patch.setattr(splitting, "KEY_BYTES", 24)
        patch.setattr(jsonl, "KEY_BYTES", 24)
        patch.setattr(streaming, "BATCH_SIZE", 30)
        found = read(spec)
        patch.setattr(jsonl, "JsonTexts", AllForJson)
        assert found == read(spec)


def test_runs_end_with_their_batch(tmp_path: Path) -> None:
    """A batch ends with the text that reaches its size, in characters, whether texts come in runs or one by one."""
    rows = [json.dumps({"text": "é" * size}) for size in (3, 9, 1, 30, 2, 8)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    (tmp_path / "a.txt").write_text("\n".join("é" * size for size in (3, 9, 1, 30, 2, 8)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "BATCH_SIZE", 10)
        for name in ("a.jsonl", "a.txt"):
            corpus = open_corpus(f"path:{tmp_path / name}?split=line")
            batches = [[len(text) for text in list(batch)] for batch in corpora.read_batches(corpus, Tally())]
            assert batches == [[3, 9], [1, 30], [2, 8]]
        whole = corpora.read_batches(open_corpus(f"path:{tmp_path / 'a.jsonl'}"), Tally())
        assert [[len(text) for text in list(batch)] for batch in whole] == [[3, 9], [1, 30], [2, 8]]


def _texts(tmp_path: Path, rows: list[dict[str, str]], options: str) -> tuple[list[Piece], Tally]:
    path, tally = tmp_path / "rows.jsonl", Tally()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(corpora.keyed(open_corpus(f"path:{path}?{options}"), tally)), tally


@pytest.mark.parametrize(("options", "work"), [("field=", ""), ("field=&work=id", "the work")])
def test_a_field_may_have_an_empty_name(tmp_path: Path, options: str, work: str) -> None:
    (piece,), _ = _texts(tmp_path, [{"text": "a", "id": "the work", "": "the empty name"}], options)
    assert (piece.text, piece.work) == ("the empty name", work)


@pytest.mark.parametrize("option", ["max_document_bytes", "max_bytes"])
def test_a_limit_may_be_larger_than_64_bits(tmp_path: Path, option: str) -> None:
    assert _texts(tmp_path, [{"text": "a"}], f"{option}=99999999TiB")[0][0].text == "a"


def test_pieces_share_the_string_of_their_beginning(tmp_path: Path) -> None:
    pieces, _ = _texts(tmp_path, [{"text": "some words " * 90}, {"text": "other words " * 90}], "max_document_bytes=64")
    assert len({id(piece.key) for piece in pieces}) == 2


def test_what_is_not_read_is_not_counted(tmp_path: Path) -> None:
    path, tally = tmp_path / "rows.jsonl", Tally()
    path.write_text('{"text": "aaaa"}\n' * 2 + '{"text": ""}\n' + '{"text": "%s"}\n' % ("long " * 9), encoding="utf-8")
    reading = corpora.keyed(open_corpus(f"path:{path}?max_document_bytes=16"), tally)
    assert next(reading).text == next(reading).text == "aaaa"
    assert (tally.empty_documents, tally.cut_documents) == (0, 0)
    assert next(reading).text.startswith("long")
    assert (tally.empty_documents, tally.cut_documents) == (1, 1)


def test_short_texts_of_long_lines_are_kept_whole(tmp_path: Path) -> None:
    rows = [{"other": "x" * 400, "text": f"text {number}"} for number in range(50)]
    pieces, _ = _texts(tmp_path, rows, "field=text")
    assert [piece.text for piece in pieces] == [row["text"] for row in rows]


class Shouted(streaming.TextCorpus):
    """A stranger's corpus with documents of its own."""

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream documents in capitals."""
        return (piece._replace(text=piece.text.upper()) for piece in super().keyed_documents(tally))


def test_documents_of_a_subclass_are_its_own() -> None:
    corpus = Shouted("mine:", lambda: iter([splitting.Fragment("ab")]), "en", "x", "x", "mine", None, 1 << 20)
    assert [one.text for one in corpora.read(corpus, Tally())] == ["AB"]


def test_texts_of_a_batch_are_a_sequence() -> None:
    texts = ReadTexts()
    for text in ("a", "b", "c"):
        texts.add(text, text, True)
    assert isinstance(texts, Sequence)
    assert (texts[1], texts[-1], texts[:], texts[::-2]) == ("b", "c", ["a", "b", "c"], ["c", "a"])
