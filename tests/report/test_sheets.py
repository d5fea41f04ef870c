"""Sheets: cells keep numbers and show them; exporters escape; tables are what benchmarks declare."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pyharness import report, store
from pyharness.benchmarks import benchmarks
from pyharness.plugins import registry
from pyharness.report import Cell, Heading, Sheet
from pyharness.report.differences import Difference
from pyharness.report.sheet import cases
from pyharness.report.tables import Filling
from pyharness.types import PERCENT, RATIO, CaseResult, Column, Format, InputError, Table

NASTY = ("<script>alert(1)</script>", "@someone", "=cmd()", "#123", "_a_", "a|b", "\x1b[31m", "---", 'a" onclick="x')


def sheet_of(*names: str) -> Sheet:
    headings = (Heading("tokenizer", "name"), Heading("ratio", unit="ratio", direction="higher", metric="speed"))
    return Sheet("t", headings, tuple((Cell(name), Cell(1.3199, RATIO, (1.29, 1.36), bounds=True)) for name in names))


def test_text_is_text_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert report.to_text([sheet_of("a row")]).startswith("t\ntokenizer")
    assert capfd.readouterr() == ("", "")


def test_numbers_of_things_in_words() -> None:
    data = {"corpora": {"a": {"tally": {"documents": 1, "bytes": 5, "digest": ""}}}}
    assert cases.text_in_words([], data, "a") == "a (5 B, 1 piece)"
    data["corpora"]["a"]["tally"]["documents"] = 2000
    assert cases.text_in_words([], data, "a") == "a (5 B, 2,000 pieces)"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Cell(1.3199, RATIO, (1.29, 1.36), bounds=True), "1.32 x [1.29, 1.36]"),
        (Cell(4.3649, interval=(4.2649, 4.4649)), "4.36 ±0.10"),
        (Cell(0.0641, PERCENT), "6.41"),
        (Cell(0.9112, Format("{:.2f}"), part="zho_Hans"), "0.91 zho_Hans"),
        (Cell(None, reason="no text"), "-"),
        (Cell(0.7, Format("{:+.2f}", 100), (0.6, 0.8)), "+70 ±10"),
    ],
)
def test_a_cell_shows_its_number_interval_and_part(cell: Cell, shown: str) -> None:
    assert cell.text == shown


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped_by_every_exporter(name: str, tmp_path: Path) -> None:
    sheet = sheet_of(name)
    page, markdown = report.to_page([sheet], name), report.to_markdown([sheet])
    assert "<script>" not in page + markdown
    assert ' onclick="' not in page
    assert not any(f" {mark}" in markdown for mark in ("@someone", "#123", "_a_"))
    assert "\x1b" not in report.to_text([sheet]) + page + markdown
    (row,) = csv.DictReader(io.StringIO(report.to_csv(sheet), newline=""))
    assert not row["tokenizer"].startswith(("=", "@", "-"))
    assert json.loads(report.to_json(sheet)) == [{"tokenizer": name, "ratio": 1.3199}]
    report.to_parquet(sheet, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet").to_dict("records") == [{"tokenizer": name, "ratio": 1.3199}]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_repeated_columns_without_room_stand_in_blocks(width: int) -> None:
    parts = [f"SCRIPT-{number:02}" for number in range(20)]
    headings = (Heading("tokenizer", "name"), *(Heading(part, repeated=True) for part in parts))
    rows = [(Cell(name), *(Cell(place + 0.5, interval=(place, place + 1.0)) for place in range(20))) for name in "ab"]
    text = report.to_text([Sheet("title", headings, tuple(rows), ("A note.",))], width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert [word for line in lines for word in line.split() if word.startswith("SCRIPT")] == parts
    numbers = [word for line in lines if line.startswith("a ") for word in line.split()[1::2]]
    assert [float(number) for number in numbers] == [place + 0.5 for place in range(20)]
    assert (text.count("title"), text.count("A note."), lines[-1]) == (1, 1, "A note.")


def test_columns_that_are_not_repeated_and_tables_with_room_stay_one() -> None:
    headings = (Heading("tokenizer", "name"), *(Heading(f"number-{one:02}") for one in range(20)))
    rows = ((Cell("a"), *(Cell(float(one)) for one in range(20))),)
    assert report.to_text([Sheet("", headings, rows)]).count("tokenizer") == 1
    few = (Heading("tokenizer", "name"), *(Heading(f"{one}", repeated=True) for one in range(5)))
    assert report.to_text([Sheet("", few, (rows[0][:6],))]).count("tokenizer") == 1


def test_html_says_what_a_column_means() -> None:
    assert '<th title="speed, ratio, higher is better">ratio</th>' in report.to_html([sheet_of("a")])


def record(*results: Mapping[str, Any], tokenizers: tuple[str, ...] = ("a", "b")) -> store.Record:
    data = {
        "kind": store.KIND, "schema": 2, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {name: {} for name in tokenizers}, "metrics": {}, "corpora": {},
        "results": [
            {"corpus": None, "parameters": {}, "status": "ok", "reason": None, "details": {}, **one} for one in results
        ],
    }  # fmt: skip
    return store.Record.from_json(data, "record")


def numbers(**values: float) -> list[dict[str, Any]]:
    return [{"metric": name, "value": value} for name, value in values.items()]


def test_a_benchmark_that_is_not_installed_has_a_table_of_all_its_metrics() -> None:
    one = {"benchmark": "lost_and_gone", "tokenizer": "a", "measurements": numbers(speed_of_it=2.5, size=7)}
    (sheet,) = report.sheets(record(one))
    assert (sheet.title, sheet.columns) == ("Lost and gone", ("tokenizer", "speed of it", "size"))
    assert sheet.texts == (("a", "2.5000", "7"),)


def test_parts_become_columns_and_many_parts_two() -> None:
    def of(parts: int) -> Sheet:
        measured = [{"metric": "m", "value": float(n), "part": f"p{n}"} for n in range(parts)]
        (sheet,) = report.sheets(record({"benchmark": "other", "tokenizer": "a", "measurements": measured}))
        return sheet

    assert of(2).columns == ("tokenizer", "m p0", "m p1")
    assert of(30).columns == ("tokenizer", "m, least", "m, most")
    assert of(30).texts == (("a", "0.0000 p0", "29.0000 p29"),)


def test_all_metrics_are_shown_when_asked_for() -> None:
    measured = numbers(load_seconds=0.5, peak_memory_bytes=1e6, shannon_entropy=3.0)
    loaded = record({"benchmark": "load", "tokenizer": "a", "measurements": measured})
    assert report.sheets(loaded)[0].columns == ("tokenizer", "seconds", "memory MB")
    assert report.sheets(loaded, every=True)[0].columns[-1] == "shannon entropy"


def test_ratios_of_rounds_stand_with_their_intervals() -> None:
    def row(name: str, ratios: list[float]) -> dict[str, Any]:
        steady = {"part": "steady", "samples": ratios}
        speed = {"metric": "encode_bytes_per_second", "value": 1e8, **steady}
        ratio = {"metric": "encode_speed_ratio", "value": 1.3, "paired": True, **steady}
        parameters = {"threads": 1, "bytes": 9, "rounds": 7}
        return {"benchmark": "throughput", "tokenizer": name, "corpus": "books", "parameters": parameters,
                "measurements": [speed, ratio]}  # fmt: skip

    speeds, sheet = report.sheets(record(row("a" * 24, [1.29, 1.3, 1.31, 1.3, 1.28, 1.32, 1.3])))
    assert speeds.title == "Throughput, MB/s: books, 1 thread"
    assert "reference" in sheet.title
    assert sheet.title.endswith(": books, 1 thread")
    assert "encode ratio" not in speeds.columns
    assert max(map(len, report.to_text([speeds, sheet]).splitlines())) <= 80
    assert "decode ratio" not in sheet.columns, "nothing was measured of it"
    shown = sheet.texts[0][sheet.columns.index("encode ratio")]
    assert shown.startswith("1.30 x [1.2")
    assert any(note.startswith("x [low, high]: ") for note in sheet.notes)


def test_a_sum_is_of_no_single_case() -> None:
    tally = {"documents": 40, "bytes": 1000, "digest": "1" * 32}
    one = {"benchmark": "integrity", "tokenizer": "a", "corpus": "x", "details": {"tally": tally},
           "measurements": numbers(checked_documents=40)}  # fmt: skip
    for results, n in (([one], "40 documents"), ([one, {**one, "corpus": "y"}], "2 numbers, added up")):
        (sheet,) = report.sheets(record(*results))
        (cell,) = (cell for row in sheet.rows for cell in row if cell.value == 40 * len(results))
        assert (cell.n, cell.case is None) == (n, len(results) > 1)


def test_older_records_keep_some_numbers_among_details() -> None:
    details = {"documents": 40, "identical_ids": {"documents": 38, "left_out": 2}}
    one = {"benchmark": "integrity", "tokenizer": "a", "corpus": "x", "details": details,
           "measurements": numbers(round_trip_share=1.0)}  # fmt: skip
    (sheet,) = report.sheets(record(one, {**one, "corpus": "y"}))
    shown = dict(zip(sheet.columns, sheet.texts[0], strict=True))
    assert (shown["tested"], shown["same ids"], shown["left out"]) == ("80", "76", "4")


def test_parquet_never_replaces_unasked(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="exists"):
        report.to_parquet(sheet_of("a"), path)
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_note_that_fails_costs_itself_alone() -> None:
    def broken(results: Sequence[CaseResult], data: Mapping[str, Any]) -> list[str]:
        raise KeyError("nothing there")

    loaded = record({"benchmark": "load", "tokenizer": "a", "measurements": numbers(load_seconds=0.5)})
    table = Table("Load", (Column("load_seconds"),), notes=(broken, "the next"))
    (sheet,) = Filling(loaded.data, table, loaded.results, {"load_seconds"}, {}).sheets()
    broke, following = sheet.notes
    assert broke.endswith("KeyError: 'nothing there'")
    assert following == "the next"
    assert sheet.texts == (("a", "0.500"),)


def test_file_names_that_are_no_text_can_be_compared_in_every_format(tmp_path: Path) -> None:
    sheet = report.flat_differences([Difference("file:\udcff | sample", "m", None, 1.0, 2.0, None, "higher")])
    for text in (report.to_csv(sheet), report.to_json(sheet)):
        assert b"udcff" in text.encode()
    report.to_parquet(sheet, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet").cases.tolist() == ["file:\\udcff | sample"]


@pytest.mark.parametrize(
    ("spec", "advised"),
    [("path:notes.txt", True), ("path:notes/?max_bytes=2MB", True), ("path:notes.txt?split=line", False),
     ("path:notes.jsonl.xz", False), ("sample:prose", False)],
)  # fmt: skip
def test_a_file_that_is_one_document_says_how_to_get_intervals(spec: str, advised: bool) -> None:
    reason = "2 documents, and 64 are needed"
    measured = [{"metric": "bytes_per_token", "value": 4.0, "no_interval": reason}]
    one = record({"benchmark": "compression", "tokenizer": "a", "corpus": "x", "measurements": measured})
    data = {**one.data, "corpora": {"x": {"spec": spec}}}
    (sheet,) = report.sheets(store.Record.from_json(data, "record"))
    assert f"No CI: {reason}." in sheet.notes
    assert any("?split=paragraph" in note for note in sheet.notes) is advised


@pytest.mark.parametrize(
    ("reasons", "notes"),
    [
        (["9 few", "9 few"], ["No CI: 9 few."]),
        (["9 few", "8 few"], ["No CI of bytes/token for a: 9 few.", "No CI of bytes/token for b: 8 few."]),
        (["9 few", "8 few", "7 few"], ["No CI of bytes/token for 3 rows, such as a: 9 few."]),
        (["9 few", "9 few", "none"], ["No CI of bytes/token for a, b: 9 few.", "No CI of bytes/token for c: none."]),
    ],
)
def test_a_reason_with_figures_says_whose_they_are(reasons: list[str], notes: list[str]) -> None:
    rows = [
        {"benchmark": "compression", "tokenizer": name, "corpus": "x",
         "measurements": [{"metric": "bytes_per_token", "value": 4.0, "no_interval": reason}]}
        for name, reason in zip("abc", reasons, strict=False)
    ]  # fmt: skip
    *_, sheet = report.sheets(record(*rows))
    assert [note for note in sheet.notes if note.startswith("No CI")] == notes


def timed(name: str, samples: list[float], **parameters: int) -> dict[str, Any]:
    measured = [
        {"metric": "encode_bytes_per_second", "part": part, "value": samples[0], "samples": some}
        for part, some in (("cold", samples[:1]), ("steady", samples))
    ]
    return {"benchmark": "throughput", "tokenizer": name, "corpus": "x", "parameters": {"threads": 1, **parameters},
            "measurements": measured}  # fmt: skip


def said_of_spread(*rows: dict[str, Any]) -> str:
    *_, sheet = report.sheets(record(*rows))
    return " ".join(note for note in sheet.notes if note.startswith("CV above"))


def test_timings_stand_beside_their_spread_and_noise_is_said() -> None:
    _, sheet = report.sheets(record(timed("a", [1e7, 1.01e7, 0.99e7]), timed("b", [1e7, 2e7, 3e7])))
    shown = [dict(zip(sheet.columns[:4], row[:4], strict=True)) for row in sheet.texts]
    (place,) = [index for index, title in enumerate(sheet.columns[:5]) if title == "steady CV %"]
    assert [row[place] for row in sheet.texts] == ["1", "50"]
    assert [one["cold"] for one in shown] == ["10.00", "10.00"]


def test_rows_that_spread_are_named_with_what_helps() -> None:
    quiet = [1.25e7, 1.3e7, 1.2e7, 1.22e7, 1.28e7, 1.26e7, 1.24e7]
    wide = [6e7, 7e7, 9e7, 7.2e7, 7.3e7, 8.5e7, 6.2e7]
    assert said_of_spread(timed("a", quiet), timed("b", quiet)) == ""
    out_of_turn = said_of_spread(timed("a", quiet), timed("b", wide))
    assert ": b." in out_of_turn
    assert "rounds=10" in out_of_turn
    in_turn = said_of_spread(timed("a", quiet, rounds=7), timed("b", wide, rounds=7))
    assert ": b." in in_turn
    assert "rounds=10" not in in_turn


@pytest.mark.parametrize(
    ("spec", "warned"),
    [("path:a.jsonl?split=line", "line"), ("path:a.txt?split=paragraph&name=a", "paragraph"),
     ("path:a.jsonl?split=line&work=of", None), ("path:a.txt?split=file", None), ("path:a.jsonl", None)],
)  # fmt: skip
def test_documents_that_are_parts_of_something_are_said_to_be(spec: str, warned: str | None) -> None:
    one = record(
        {"benchmark": "compression", "tokenizer": "a", "corpus": "x", "measurements": numbers(bytes_per_token=4)}
    )
    (sheet,) = report.sheets(store.Record.from_json({**one.data, "corpora": {"x": {"spec": spec}}}, "record"))
    said = [note for note in sheet.notes if "too narrow" in note]
    assert [f"Documents are {warned}s here" in note for note in said] == [True] * (warned is not None)


def test_tables_that_need_no_case_of_their_own_are_offered_to_reports() -> None:
    offered = registry.offered("pyharness.report.tables", "BENCHMARKS")
    for name, benchmark in benchmarks().items():
        own = set(benchmark.metric_names)
        for table in benchmark.tables:
            columns = {column.metric for column in table.columns if isinstance(column, Column)}
            assert columns <= own or own & {*table.needs} or name in offered, (name, table.title)
