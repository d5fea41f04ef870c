"""Every number of a page can be traced: what the markup says of it is what the record says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from paged import made, reading
from pyharness import store
from pyharness.report import page
from pyharness.report.page import markup
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.statistics.samples import interval_of, noise
from pyharness.types import COUNT


@pytest.fixture(scope="module")
def record() -> store.Record:
    return made.record(made.names("row", 3), made.names("text", 2))


@pytest.fixture(scope="module")
def tree(record: store.Record) -> reading.Element:
    return reading.read(page.to_report([page.RecordFile("a.json", record)]))


def traced(record: store.Record) -> dict[tuple[str, str], list[str]]:
    """What cells may say, by key of the case and value: of each measurement, and of the spread of its samples."""
    said: dict[tuple[str, str], list[str]] = {}
    for result in record.results:
        for one in result.measurements:
            unit, interval = record.data["metrics"][one.metric]["unit"], interval_of(one)
            n = f"of {len(one.samples)} repetitions" if one.samples else "of 407 documents"
            ends = (
                [] if interval is None else ["95 % CI " + " to ".join(f"{Decimal(f'{end:.6g}'):f}" for end in interval)]
            )
            for parts in ([f"{one.value!r} {unit}", n], [f"{one.value!r} {unit}", *ends, n]):
                said.setdefault((result.case.key, repr(one.value)), []).append("; ".join((*parts, result.case.key)))
            if one.samples:
                spread = repr(noise(one.samples))
                said[result.case.key, spread] = [f"{spread} of the mean; {n}; {result.case.key}"]
    return said


def test_numbers_are_the_records(record: store.Record, tree: reading.Element) -> None:
    known, seen = traced(record), set[tuple[str, str]]()
    for cell in tree.one("main").all("td"):
        key = cell.tip.rpartition("; ")[2], cell.tip.partition(" ")[0]
        if " | " in key[0] and " -> " not in key[0]:  # of two cases: test_answer_section.py
            assert cell.tip in known[key]
            seen.add(key)
    declared = {("compression", name) for name in ("bytes_per_token", "tokens_per_word", "vocabulary_used")}
    for result in record.results:
        for one in result.measurements:
            if one.samples or (result.case.benchmark, one.metric) in declared:
                assert (result.case.key, repr(one.value)) in seen


def test_shown_numbers_are_those_of_the_tables(record: store.Record, tree: reading.Element) -> None:
    from pyharness.report.tables import measured_sheets

    tables = {one.one("caption").text: one for one in tree.one("main").all("table")}
    for sheet in measured_sheets(record):
        rows = tables[sheet.title].one("tbody").all("tr")
        texts = [tuple(one.text for one in row.children if isinstance(one, reading.Element)) for row in rows]
        assert texts == list(sheet.texts)
        heads = [one.text for one in tables[sheet.title].one("thead").all("th")]
        assert heads == list(sheet.columns)


def test_cells_with_more_to_say_are_reached_by_keyboard(tree: reading.Element) -> None:
    for one in (*tree.all("td"), *tree.all("th")):
        assert (one.attributes.get("tabindex") == "0") == bool(one.tip)


def test_a_long_name_is_cut_and_whole_on_focus() -> None:
    names = [f"file:/models/{'x' * 100}/{number}/tokenizer.json" for number in range(3)]
    sheet = Sheet("t", (Heading("tokenizer", "name"),), tuple(text_row(name) for name in names))
    shown = [row[0] for row in markup.shown_rows(sheet)]
    assert len({one.text for one in shown}) == 3
    assert all(len(one.text) <= markup.LONGEST["name"] for one in shown)
    assert [one.tip for one in shown] == names


@pytest.mark.parametrize("names", [("a\x1b", r"a\x1b"), ("K", "k"), ("a", "a\u202e"), ("e", "e" + "x" * 60)])
def test_names_that_look_alike_are_told_apart(names: tuple[str, str]) -> None:
    sheet = Sheet("t", (Heading("tokenizer", "name"),), tuple(text_row(name) for name in names))
    assert len({row[0].text for row in markup.shown_rows(sheet)}) == 2


@pytest.mark.parametrize(
    ("cell", "text", "tip"),
    [
        (Cell(None, reason="no text", case="a | b"), "-", "no text; a | b"),
        (Cell(0.0, case="a"), "0.0000", "0.0 u; a"),
        (Cell(-1e-12), "0.0000", "-0.000000000001 u"),
        (Cell(2e7, interval=(1.5e7, 2.5e7)), "20000000 ±5000000", "20000000.0 u; 95 % CI 15000000 to 25000000"),
        (Cell(1e12), "1000000000000.0000", "1000000000000.0 u"),
        (Cell(3), "3.0000", "3 u"),
        (Cell(3, COUNT), "3", "3 u"),
        (Cell(1.5, interval=(1.0, 2.0), reason="x"), "1.50 ±0.50", "1.5 u; 95 % CI 1 to 2; x"),
    ],
)
def test_a_cell_says_what_it_is(cell: Cell, text: str, tip: str) -> None:
    ((shown,),) = markup.shown_rows(Sheet("t", (Heading("x", unit="u"),), ((cell,),)))
    assert (shown.text, shown.tip) == (text, tip)


def test_a_tip_that_says_no_more_is_none() -> None:
    ((shown,),) = markup.shown_rows(Sheet("t", (Heading("#"),), ((Cell(3, COUNT),),)))
    assert (shown.text, shown.tip) == ("3", "")


def test_the_middle_of_many_rows_is_folded() -> None:
    rows = tuple((Cell(f"row {number}"), Cell(number)) for number in range(450))
    sheet = Sheet("many", (Heading("row", "name"), Heading("value")), rows)
    tree = reading.read(page.render(page.Page("t", (page.Section("t", (sheet,)),))))
    first, folded = (one.one("tbody") for one in tree.one("main").all("table"))
    numbers = [[int(cell.text.removesuffix(".0000")) for cell in one.all("td")] for one in (first, folded)]
    assert numbers == [[*range(100), *range(350, 450)], [*range(100, 350)]]
    assert tree.one("main").one("details").one("summary").text == "250 more rows of “many”"


def test_many_columns_are_bounded_and_counted() -> None:
    headings = (Heading("row", "name"), *(Heading(f"column {number}") for number in range(300)))
    rows = tuple((Cell(f"row {place}"), *(Cell(number) for number in range(300))) for place in range(3))
    tree = reading.read(page.render(page.Page("t", (page.Section("t", (Sheet("wide", headings, rows),)),))))
    table = tree.one("main").one("table")
    assert {len(row.all("td")) for row in table.one("tbody").all("tr")} == {markup.MOST_COLUMNS - 1}
    assert len(table.one("thead").all("th")) == markup.MOST_COLUMNS
    assert tree.one("main").one("li").text.startswith("201 more columns")


def classes(sheet: Sheet) -> list[list[str]]:
    return [[one.mark for one in row] for row in markup.shown_rows(sheet)]


def test_the_best_of_a_column_are_marked_and_what_is_tied_with_them() -> None:
    heads = (Heading("row", "name"), Heading("speed", direction="higher"), Heading("size"),
             Heading("cost", direction="lower"), Heading("#"))  # fmt: skip
    rows: tuple[tuple[str | float | None, ...], ...]
    rows = (("a", 2.0, 1, 5.0, 1), ("b", 3.0, 2, 5.1, 1), ("c", None, 3, 4.0, None), ("d", 1.0, 4, 6.0, 3))
    found = classes(Sheet("t", heads, tuple(tuple(map(Cell, row)) for row in rows)))
    assert found == [["", "", "", "best", ""], ["", "best", "", "best", ""], [""] * 5, [""] * 5]
    alike = Sheet("t", heads[:2], ((Cell("a"), Cell(2.0)), (Cell("b"), Cell(2.0))))
    assert classes(alike) == [["", ""], ["", ""]], "nothing is better"


def test_verdicts_have_their_colours_beside_the_word_and_names_have_none() -> None:
    heads = (Heading("row", "name"), Heading("verdict", "word"))
    sheet = Sheet(
        "t", heads, tuple(tuple(map(Cell, row)) for row in (("better", "worse"), ("b", "better"), ("c", "same")))
    )
    assert classes(sheet) == [["", "worse"], ["", "better"], ["", ""]]
    tree = reading.read(page.render(page.Page("t", (page.Section("s", (sheet,)),))))
    assert [one.text for one in tree.all("td") if "worse" in str(one.attributes.get("class"))] == ["worse"]
    style = markup.theme() + markup._asset("style.css")
    assert {".better { color: var(--better); }", ".worse { color: var(--worse); }"} <= {*style.splitlines()}
