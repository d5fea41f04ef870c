"""Dead tokens are named with what stands in their place and why: ten of a row, all when asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pyharness
from pyharness import report, store
from pyharness.cli import main
from pyharness.report.tables import FIRST_LISTED, listing_sheets
from tokenizer_files import byte_level, write

TITLE = "Unreachable and undecided tokens"


def record(details: dict[str, Any]) -> store.Record:
    one: dict[str, Any] = {
        "benchmark": "reachability", "tokenizer": "a", "corpus": None, "parameters": {}, "status": "ok",
        "reason": None, "details": details, "measurements": [],
    }  # fmt: skip
    data = {
        "kind": store.KIND, "schema": 2, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {"a": {}}, "corpora": {}, "metrics": {}, "results": [one],
    }  # fmt: skip
    return store.Record.from_json(data, "record")


def dead(token: int, because: str = "it is never made", argument: str = "never") -> dict[str, Any]:
    return {"id": token, "token": f"<h{token}>", "verdict": "merge_unreachable", "instead": [1, 2],
            "argument": argument, "because": because}  # fmt: skip


def test_ten_are_listed_and_all_when_asked() -> None:
    read = record({"model": [{"id": 3, "spelled": ["<", "h3>"]}], "pipeline": [dead(token) for token in range(3, 20)]})
    (some,), (whole,) = listing_sheets(read), listing_sheets(read, all_entries=True)
    assert (some.title, len(some.rows), len(whole.rows)) == (TITLE, FIRST_LISTED, 17)
    assert some.texts[0] == ("a", "3", "'<h3>'", "'<' 'h3>'", "unreachable (merge): never")
    assert some.texts[1] == ("a", "4", "'<h4>'", "ids 1, 2", "unreachable (merge): never")
    assert whole.notes == ("never: it is never made.",) == some.notes[:-1]
    assert re.search(r"^a: 7 more\b.*--list-dead\b", some.notes[-1])


def test_a_reason_that_differs_by_token_stands_with_each() -> None:
    entries = [dead(3, "by 2.5", "better_path"), dead(4, "by 3.5", "better_path"), {**dead(5), "argument": "never"}]
    open_one = {"id": 6, "token": "x", "verdict": "no_witness_found", "instead": list(range(20))}
    (sheet,) = listing_sheets(record({"pipeline": [*entries, open_one]}))
    reasons = [
        "unreachable (merge): by 2.5",
        "unreachable (merge): by 3.5",
        "unreachable (merge): never",
        "no witness found",
    ]
    assert [row[-1] for row in sheet.texts] == reasons
    assert sheet.texts[-1][3] == "ids 0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
    assert sheet.notes == ("never: it is never made.",)


def test_a_row_names_its_tokens_once_for_all_texts() -> None:
    data = dict(record({"pipeline": [dead(token) for token in range(3, 20)]}).data)
    data["results"] = [one | {"corpus": text, "key": text} for one in data["results"] for text in ("x", "y")]
    read = store.Record.from_json(data | {"corpora": {"x": {}, "y": {}}}, "record")
    (some,), (whole,) = listing_sheets(read), listing_sheets(read, all_entries=True)
    assert [row[1] for row in whole.texts] == [str(token) for token in range(3, 20)]
    assert len(some.rows) == FIRST_LISTED
    assert re.search(r"^a: 7 more\b.*--list-dead\b", some.notes[-1])


def test_a_token_of_many_characters_takes_few_lines() -> None:
    long = {**dead(3), "token": "x" * 9000}
    read = record({"model": [{"id": 3, "spelled": ["x"] * 9000}], "pipeline": [long]})
    text = report.to_text(list(listing_sheets(read, all_entries=True)), 80)
    assert len(text.splitlines()) < 20


@pytest.mark.parametrize("details", [{"pipeline": [{}]}, {"pipeline": 3}, {"model": [None]}])
def test_details_that_were_edited_cost_their_lines_alone(details: dict[str, Any]) -> None:
    (sheet,) = listing_sheets(record(details))
    assert not sheet.rows
    assert re.search(r"^a: .*cannot be read \(", sheet.notes[0])


def test_tokens_of_strangers_are_text() -> None:
    hostile = {**dead(3), "token": "</td><script>alert(1)</script>\x1b[31m\u202e"}
    read = record({"pipeline": [hostile]})
    for text in (report.to_html(report.sheets(read)), report.to_markdown(report.sheets(read))):
        assert "<script>" not in text
        assert TITLE in text
    assert "\x1b" not in report.to_text(report.sheets(read))


def test_a_real_vocabulary_at_the_command_line(tmp_path: Path) -> None:
    file = byte_level() | {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    file["model"]["vocab"] |= {"zq": 261}  # no rule makes it
    path = write(tmp_path, "tokenizer.json", file)
    result = pyharness.run([path], [], ["reachability"])
    written = tmp_path / "r.json"
    result.save(written)
    done = CliRunner().invoke(main, ["report", str(written), "--list-dead"])
    assert done.exit_code == 0, done.output
    (line,) = [line.split() for line in done.stdout.splitlines() if "'zq'" in line]
    assert line[1:5] == ["261", "'zq'", "'z'", "'q'"]
