"""Several records on one page: what differs is said first, and other text is in no comparison."""

from __future__ import annotations

from typing import Any

import pytest

from paged import made, reading
from pyharness import store
from pyharness.report import page

ROWS, TEXTS = ["a", "b"], ["x", "y"]


def changed(record: store.Record, **changes: Any) -> store.Record:
    return store.Record.from_json({**record.data, **changes}, "changed")


def with_other_text(record: store.Record, label: str) -> store.Record:
    """The record of a run in which one text was another."""
    other = {**made.TALLY, "digest": "0" * 32}
    corpora = {**record.data["corpora"], label: {"spec": "x", "tally": other}}
    results = [
        {**one, "details": {"tally": other}} if one["corpus"] == label else one for one in record.data["results"]
    ]
    return changed(record, corpora=corpora, results=results)


def tree_of(*records: store.Record, names: str = "pqr") -> reading.Element:
    return reading.read(page.to_report([page.RecordFile(name, one) for name, one in zip(names, records, strict=False)]))


def facts(tree: reading.Element) -> dict[str, list[str]]:
    """Rows of the table of what differs."""
    (table,) = (one for one in tree.all("table") if one.one("caption").text == "What differs")
    return {row.one("th").text: [cell.text for cell in row.all("td")] for row in table.one("tbody").all("tr")}


FIRST = made.record(ROWS, TEXTS, timed=False)


def test_what_differs_is_said_first() -> None:
    environment = {"pyharness": "0.1.0", "cpu": "other", "libraries": {"numpy": "3.0"}}
    tree = tree_of(FIRST, with_other_text(changed(FIRST, environment=environment), "y"))
    first = next(one for one in tree.one("main").children if isinstance(one, reading.Element))
    assert "differs" in first.one("h2").text
    assert "The machines differ" in first.text
    assert "between the records: y." in first.text
    assert facts(tree) == {
        "cpu": ["-", "other"], "libraries numpy": ["2.0", "3.0"], "text y: digest": [made.TALLY["digest"], "0" * 32],
    }  # fmt: skip


def test_records_that_do_not_differ_have_no_table_of_it() -> None:
    tree = tree_of(FIRST, FIRST)
    assert "machine" in tree.text
    assert "machines differ" not in tree.text
    assert "What differs" not in [one.text for one in tree.all("caption")]


def test_other_text_is_in_no_comparison() -> None:
    tree = tree_of(FIRST, with_other_text(FIRST, "y"))
    compared = [
        one.text for one in tree.one("main").all("caption") if " -> " in one.text or "compression | " in one.text
    ]
    assert any("| x" in title for title in compared)
    assert not [title for title in compared if "| y" in title]
    (refused,) = (one for one in tree.all("table") if one.one("caption").text.startswith("Cases without"))
    assert {row.one("th").text for row in refused.one("tbody").all("tr")} == {
        "compression | a | y",
        "compression | b | y",
    }
    assert all("0" * 12 in row.one("td").text for row in refused.one("tbody").all("tr"))


def test_records_without_a_case_in_common_are_still_a_page() -> None:
    tree = tree_of(FIRST, made.record(["c", "d"], ["z"]))
    assert "share no case" in tree.text
    assert facts(tree)["row c"] == ["-", "measured"]


def test_each_record_stands_under_its_name() -> None:
    tree = tree_of(FIRST, FIRST, FIRST, names="ppq")
    titles = [one.text for one in tree.one("nav").all("a")]
    assert titles[2:] == [
        "p (2) (B) against p (1) (A)", "q (3) (B) against p (1) (A)", "p (1)", "p (2)", "q (3)", "Provenance",
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2])
def test_the_same_records_are_the_same_page(count: int) -> None:
    assert tree_of(*[FIRST] * count) == tree_of(*[FIRST] * count)
