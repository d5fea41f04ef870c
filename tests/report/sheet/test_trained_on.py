"""Rows that were trained on the text: marked wherever they are shown on it, and out of its ranking."""

from __future__ import annotations

from typing import Any

import pytest

from pyharness import report, store
from pyharness.report import comparison, tables
from pyharness.report.page.answer import answer, overall_cells, rankings_of
from pyharness.report.ranking import Contender, Ranked, ranked, ranking_sheets
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.parts import Figure
from pyharness.report.summary import summary_sheets
from pyharness.report.tables import measured_sheets
from ranked.records import METRIC, case, column, record


def ranks(read: store.Record) -> dict[str, Ranked]:
    return ranked([Contender(one.case.tokenizer, read, one) for one in read.results], METRIC)


def said(read: store.Record) -> list[str]:
    return [text for sheet in summary_sheets(read) for question, text in sheet.texts if question == "Fewest tokens"]


def trained_on(results: list[dict[str, Any]], **shares: float) -> list[dict[str, Any]]:
    for one in results:
        if one["tokenizer"] in shares:
            one["details"]["trained_on"] = shares[one["tokenizer"]]
    return results


def test_a_row_that_was_trained_on_the_text_is_listed_without_a_rank() -> None:
    means = {"own": 9.0, "a": 4.0, "b": 3.0}
    read = record(*trained_on(column(means, 1, 0), own=1.0))
    (sheet,) = ranking_sheets(read)
    assert [(row[0], row[2]) for row in sheet.texts] == [("a", "1"), ("b", "2"), ("own †", "-")]
    assert not any("No rank" in note for note in sheet.notes)
    (note,) = [note for note in sheet.notes if "†" in note]
    assert "own (100.00 %" in note
    without = ranks(record(*column({row: means[row] for row in ("a", "b")}, 1, 0)))
    assert {row: one.rank for row, one in ranks(read).items() if row != "own"} == {
        row: one.rank for row, one in without.items()
    }, "as if it were not there"


def test_a_row_that_has_met_little_of_the_text_is_marked_and_ranked() -> None:
    (sheet,) = ranking_sheets(record(*trained_on(column({"own": 9.0, "a": 4.0}, 1, 0), own=0.004)))
    assert [(row[0], row[2]) for row in sheet.texts] == [("own †", "1"), ("a", "2")]
    assert any("own (0.40 %" in note for note in sheet.notes)


def test_rows_that_were_trained_on_a_text_are_ranked_on_others() -> None:
    means = {"own": 9.0, "a": 4.0, "b": 3.0}
    seen = trained_on(column(means, 1, 0, "seen"), own=1.0)
    (sheet,) = ranking_sheets(record(*seen, *column(means, 1, 1, "other")))
    ranks = {row[0]: (row[2], row[4]) for row in sheet.texts}
    assert ranks == {"a": ("1", "2"), "b": ("2", "3"), "own †": ("-", "1")}
    (note,) = [note for note in sheet.notes if "†" in note]
    assert "own on seen" in note


def test_where_every_row_was_trained_on_the_text_none_is_first() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0}, 1, 0), own=1.0, a=0.5))
    (sheet,) = ranking_sheets(read)
    assert [row[2] for row in sheet.texts] == ["-", "-"]
    assert not any("No rank" in note for note in sheet.notes)
    assert any("no row" in block for block in said(read))


def test_the_page_says_first_of_those_that_compete() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0, "b": 3.0}, 1, 0), own=1.0))
    assert any(block.startswith("text: a, then b") for block in said(read))
    (section,) = answer(read)
    (sheet,) = [block for block in section.blocks if isinstance(block, Sheet)]
    (figure,) = [block for block in section.blocks if isinstance(block, Figure)]
    assert [row[0] for row in sheet.texts] == ["a", "b", "own †"]
    assert "from a in" in figure.title


def test_a_reference_that_was_trained_on_the_text_is_none() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0, "b": 3.0}, 1, 0), own=1.0))
    read.data["suite"]["reference"] = "own"
    (ranking,) = rankings_of(read)
    assert ranking.reference == "a"


def test_over_all_texts_a_row_that_was_trained_on_one_has_no_rank() -> None:
    means = {"own": 9.0, "a": 4.0, "b": 3.0}
    seen = trained_on(column(means, 1, 0, "seen"), own=1.0)
    (ranking,) = rankings_of(record(*seen, *column(means, 1, 1, "other")))
    assert set(overall_cells(ranking.columns, METRIC, ranking.rows, ranking.reference)) == {"a", "b"}


def test_tables_of_the_text_mark_the_row() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0}, 1, 0), own=1.0))
    (sheet,) = measured_sheets(read)
    assert [row[0] for row in sheet.texts] == ["own †", "a"]
    assert any(note.startswith("†") and "own (100.00 %" in note for note in sheet.notes)
    assert "own †" in report.to_markdown([sheet])
    assert "own †" in report.to_html([sheet])
    assert "own †" in report.to_text([sheet])


def test_a_record_keeps_what_a_row_was_trained_on() -> None:
    (result,) = record(*trained_on([case("own", "text", 4.0, ())], own=0.25)).results
    assert result.trained_on == 0.25
    assert store.result_from_json(store.result_as_json(result)) == result
    assert "trained_on" not in result.details


@pytest.mark.parametrize("share", ["half", True, -0.5, 1.5, None])
def test_what_is_no_share_says_nothing(share: Any) -> None:
    (result,) = record(*trained_on([case("own", "text", 4.0, ())], own=share)).results
    assert result.trained_on is None
    assert result.ranks


def test_a_comparison_marks_the_row() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0}, 1, 0), own=1.0))
    (sheet,) = report.difference_sheets(comparison.rows(read, "a", "own"))
    assert "a -> own †" in sheet.title
    assert any(note.startswith("†") for note in sheet.notes)


def test_programs_get_the_share() -> None:
    read = record(*trained_on(column({"own": 9.0, "a": 4.0}, 1, 0), own=0.5))
    rows = {row["tokenizer"]: row["trained_on"] for row in tables.flat_rows(read)}
    assert rows == {"own": 0.5, "a": None}
