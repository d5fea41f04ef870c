"""Reports: readable in 80 columns and in a pipe, escaped, complete; comparisons that refuse other text."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pyharness
from pyharness import report, store
from pyharness.commands import session
from pyharness.report import comparison
from pyharness.report.tables import flat_rows
from pyharness.types import Case, InputError

NASTY = ("=cmd()|'/c calc'!A0", "<script>alert(1)</script>", "a|b`c`", "\x1b[31mred\u202egnp.exe", "x" * 200)


def renamed(record: store.Record, names: dict[str, str]) -> store.Record:
    data = json.loads(json.dumps(record.data))
    for result in data["results"]:
        result["tokenizer"] = names.get(result["tokenizer"], result["tokenizer"])
    data["tokenizers"] = {names.get(name, name): about for name, about in data["tokenizers"].items()}
    return store.Record.from_json(data, "renamed")


@pytest.mark.parametrize("name", ["raw_bytes", "file:/a/long/path/to/some/folder/of/models/tokenizer.json"])
def test_tables_fit_eighty_columns_without_losing_a_number(result: session.Result, name: str) -> None:
    text = report.to_text(report.sheets(renamed(result.record, {"raw_bytes": name})))
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    numbers = [word for line in text.splitlines() for word in line.split() if "…" in word]
    assert all("json" in word for word in numbers), "only names may be cut"
    for title in ("Compression", "Fairness", "Unreachable tokens", "Round trips", "Throughput", "Latency", "Load"):
        assert title in text
    assert "smoke test" in text


@pytest.mark.parametrize("name", NASTY)
def test_names_from_strangers_are_escaped(result: session.Result, name: str) -> None:
    record = renamed(result.record, {"raw_bytes": name})
    tables = report.sheets(record)
    assert "<script>" not in report.to_html(tables)
    assert "<script>" not in report.to_markdown(tables)
    for text in (report.to_text(tables), report.to_markdown(tables), report.to_html(tables)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    rows = list(csv.DictReader(io.StringIO(report.to_csv(report.flat_sheet(record)))))
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in (row["tokenizer"], row["reason"]))
    for table in tables:
        lines = report.to_markdown([table]).splitlines()[2 : 4 + len(table.rows)]
        assert {line.replace(r"\|", "").count("|") for line in lines} == {len(table.columns) + 1}


def test_flat_rows_hold_every_number(result: session.Result, tmp_path: Path) -> None:
    expected = sum(max(len(one.measurements), 1) for one in result.record.results)
    frame = result.to_dataframe()
    assert len(frame) == expected
    assert len(json.loads(report.to_json(report.flat_sheet(result.record)))) == expected
    assert len(list(csv.reader(io.StringIO(report.to_csv(report.flat_sheet(result.record)))))) == expected + 1
    report.to_parquet(report.flat_sheet(result.record), tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), frame, check_dtype=False)
    speed = frame[(frame.metric == "encode_bytes_per_second") & (frame.part == "steady")]
    assert (speed.low <= speed.value).all()
    assert (speed.value <= speed.high).all()
    missing = frame[frame.value.isna()]
    assert missing.reason.notna().all(), "null says why"


NAMES = ("a\rb", "a\nb", "a\r\nb", '"', ",", "\r", "\n", "a b", "'", "\r\n\n,", "é\x85\u2028\x0b\x1c")


def test_any_name_is_read_back_from_csv(result: session.Result) -> None:
    """A carriage return that stands bare ends a line for some readers; to others it is an error."""
    data = json.loads(json.dumps(result.record.data))
    for number, name in enumerate(NAMES):
        data["results"][number % len(data["results"])]["corpus"] = name
        sheet = report.flat_sheet(store.Record.from_json(data, "names"))
        text = report.to_csv(sheet)
        expected = [row["corpus"] for row in json.loads(report.to_json(sheet))]
        shown = [f"'{one}" if one and one.startswith(("\r", "\n", "'=")) else one or "" for one in expected]
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert [row["corpus"] for row in rows] == shown
        assert [len(row) for row in rows] == [len(rows[0])] * len(rows)
        frame = pd.read_csv(io.StringIO(text, newline=""), keep_default_na=False)
        assert frame["corpus"].tolist() == shown


def test_a_result_shows_itself(result: session.Result, tmp_path: Path) -> None:
    shown = result._repr_html_()
    assert shown.startswith("<div")
    assert "<table" in shown
    assert "<script" not in shown
    page = report.to_page(report.sheets(result.record), "<a> & b.json")
    assert page.startswith("<!doctype html>")
    assert '<meta charset="utf-8">' in page  # a browser would guess, and get ± and é wrong
    assert "<title>&lt;a&gt; &amp; b.json</title>" in page
    assert "bytes/token" in str(result)
    result.save(tmp_path / "kept.json")
    assert pyharness.read(tmp_path / "kept.json").record.results == result.record.results


def test_failures_are_listed_with_their_reasons(result: session.Result) -> None:
    data = json.loads(json.dumps(result.record.data))
    failed = data["results"][0]
    failed |= {"status": "failed", "reason": "because " * 40, "measurements": []}
    text = report.to_text(report.sheets(store.Record.from_json(data, "failed")))
    assert text.count("because") == 40
    assert max(map(len, text.splitlines())) <= 80


def test_a_lossy_row_is_named_where_it_looks_good(result: session.Result) -> None:
    data = json.loads(json.dumps(result.record.data))
    data["tokenizers"]["raw_bytes"]["round_trip"] = "lossy"
    for record, wanted in ((result.record, False), (store.Record.from_json(data, "lossy"), True)):
        notes = [
            note for table in report.sheets(record) if table.title.startswith("Compression") for note in table.notes
        ]
        assert any(note.startswith("Lossy") and note.endswith("raw_bytes.") for note in notes) is wanted


def test_cases_are_told_apart_by_name() -> None:
    given: tuple[dict[str, Any], ...] = ({"threads": 2, "bytes": 5}, {"width": 768}, {"context": 512, "model": "m"}, {})
    names = [report.case_name(Case("load", "raw_bytes", None, parameters)) for parameters in given]
    assert names == ["load x2", "load d=768", "load context=512", "load"]


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key; of long lists the ends."""
    for key in list(data) if isinstance(data, dict) else sorted({0, len(data) - 1} if data else ()):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from places(data[key])


def show_everything(record: store.Record) -> None:
    tables = report.sheets(record)
    for text in (report.to_text(tables), report.to_markdown(tables), report.to_html(tables)):
        text.encode()
    report.to_csv(report.flat_sheet(record)).encode()
    report.to_json(report.flat_sheet(record)).encode()
    with contextlib.suppress(InputError):
        report.to_text(report.difference_sheets(comparison.rows(record, "raw_bytes", "mistral:v3")))
    with contextlib.suppress(InputError):
        report.to_text(report.difference_sheets(comparison.records(record, record)))


def edited(data: Any) -> store.Record | None:
    with contextlib.suppress(InputError):
        return store.Record.from_json(data, "edited")
    return None


def test_records_edited_by_hand_are_shown_or_refused(result: session.Result) -> None:
    text = store.dump(result.record.data)
    count = len(list(places(json.loads(text))))
    dice = random.Random(7)
    shown = 0
    for number in dice.sample(range(count), 100):
        data = json.loads(text)
        container, key = list(places(data))[number]
        change: Any = dice.choice(("remove", None, True, -1, 1e140, "\udcff\x1b", [], {}, [None], {"x": {}}))
        if change == "remove":
            del container[key]
        else:
            container[key] = change
        if (record := edited(data)) is not None:
            show_everything(record)
            shown += 1
    assert 10 < shown < 100


@pytest.mark.parametrize("direction", ["up", "", "Higher", None, 1])
def test_a_direction_is_one_that_verdicts_know(result: session.Result, direction: object) -> None:
    data = json.loads(store.dump(result.record.data))
    data["metrics"]["bytes_per_token"]["direction"] = direction
    with pytest.raises(InputError, match=rf"^edited .*'direction' is {json.dumps(direction)}"):
        store.Record.from_json(data, "edited")


@pytest.mark.parametrize("name", ["tokenizers", "corpora", "metrics"])
def test_labels_that_are_described_nowhere_are_shown_all_the_same(result: session.Result, name: str) -> None:
    record = store.Record.from_json({**result.record.data, name: {}}, "edited")
    show_everything(record)
    assert "raw_bytes" in report.to_text(report.sheets(record))


def test_details_that_are_gone_are_shown_as_nothing(result: session.Result) -> None:
    data = json.loads(store.dump(result.record.data))
    for number, one in enumerate(data["results"]):
        one |= {"details": {}, "parameters": {"number": number}}
    show_everything(store.Record.from_json(data, "edited"))
    for one in data["results"]:
        one["details"] = {"tally": None}
    show_everything(store.Record.from_json(data, "edited"))


def test_an_interval_of_very_many_samples(result: session.Result) -> None:
    data = json.loads(store.dump(result.record.data))
    (one, *_) = (one for case in data["results"] for one in case["measurements"] if one.get("samples"))
    one |= {"value": 2500.0, "samples": list(range(5001))}
    (row, *_) = (row for row in flat_rows(store.Record.from_json(data, "long")) if row["value"] == 2500.0)
    assert 2300 < row["low"] < 2500 < row["high"] < 2700
