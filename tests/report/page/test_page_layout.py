"""What every page has: headings in order, tables with captions and heads, anchors that lead somewhere."""

from __future__ import annotations

from itertools import pairwise

import pytest

from paged import made, reading
from pyharness.report import page
from pyharness.report.page import Figure, Page, Section, contents
from pyharness.report.sheet import Cell, Heading, Sheet

SVG = '<svg viewBox="0 0 200 100" class="chart" role="graphics-document" aria-label="a"><g role="x"></g></svg>'
SHEET = Sheet("numbers", (Heading("row", "name"), Heading("x")), ((Cell("a"), Cell(1.5)),), ("a note",))
NESTED = Section("inner", (Figure("dots", "what is drawn", SVG, SHEET), Section("innermost", (SHEET,))))
MADE = Page("t", (Section("one", (NESTED, "a paragraph"), folded=True), Section("two", (SHEET, NESTED))), foot=(SHEET,))
PAGES = {
    "record": lambda: page.to_report([page.RecordFile("a.json", made.record(["a", "b"], ["c", "d"]))]),
    "parts": lambda: page.render(MADE),
    "empty": lambda: page.render(Page("nothing", ())),
}


@pytest.fixture(scope="module", params=PAGES)
def tree(request: pytest.FixtureRequest) -> reading.Element:
    return reading.read(PAGES[request.param]())


def test_headings_are_in_order(tree: reading.Element) -> None:
    levels = [int(one.tag[1]) for one in tree.walk() if one.tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= one + 1 for one, later in pairwise(levels))


def test_tables_have_captions_and_heads(tree: reading.Element) -> None:
    for table in tree.all("table"):
        assert table.one("caption").text
        columns = table.one("thead").all("th")
        assert all(one.attributes["scope"] == "col" for one in columns)
        for row in table.one("tbody").all("tr"):
            cells = [one for one in row.children if isinstance(one, reading.Element)]
            assert (cells[0].tag, cells[0].attributes["scope"], len(cells)) == ("th", "row", len(columns))


def test_anchors_lead_somewhere_and_are_counted(tree: reading.Element) -> None:
    names = [one.attributes["id"] for one in tree.walk() if "id" in one.attributes]
    assert len(set(names)) == len(names)
    links = [str(one.attributes["href"]) for one in tree.all("a") if str(one.attributes["href"]).startswith("#")]
    assert {link.removeprefix("#") for link in links} <= {*names}
    labelled = [str(one.attributes["aria-labelledby"]) for one in tree.walk() if "aria-labelledby" in one.attributes]
    assert {*labelled} <= {*names}


def test_a_skip_link_comes_first(tree: reading.Element) -> None:
    first = next(one for one in tree.one("body").walk())
    assert (first.tag, first.attributes["href"], first.text) == ("a", "#content", "Skip to the content")
    assert tree.one("main").attributes["id"] == "content"


def test_controls_without_a_script_work_without_one(tree: reading.Element) -> None:
    assert not tree.all("button")
    assert {one.attributes["type"] for one in tree.all("input")} == {"radio"}


def test_a_drawing_is_as_large_as_it_is_drawn() -> None:
    tree = reading.read(page.render(MADE))
    sizes = {(one.attributes["width"], one.attributes["height"]) for one in tree.all("svg")}
    assert sizes == {("12.5rem", "6.25rem")}, "200 and 100 pixels, which grow with the page's letters"
    figure = tree.all("figure")[0]
    assert figure.one("details").one("caption").text == "numbers"


def test_the_same_record_is_the_same_page() -> None:
    record = made.record(["a", "b"], ["c", "d"])
    assert page.to_report([page.RecordFile("a", record)]) == page.to_report([page.RecordFile("a", record)])


def test_thirty_rows_on_thirty_texts_are_three_megabytes_at_most() -> None:
    text = page.to_report([page.RecordFile("a.json", made.record(made.names("row", 30), made.names("text", 30)))])
    assert len(text.encode()) <= 3_000_000
    assert reading.read(text).one("h1").text == "quick: 30 tokenizers on 30 texts, 2026-01-01"


def test_tables_that_have_no_room_are_counted_and_named() -> None:
    sheets = [Sheet(f"{kind} {number}", (Heading("x", "name"), Heading(kind)), ((Cell("a"), Cell(number)),) * 10)
              for kind in ("first", "second") for number in range(50)]  # fmt: skip
    kept = contents._within(sheets, 20 * 10)
    assert {one.title for one in kept} == {f"{kind} {number}" for kind in ("first", "second") for number in range(5)}
    assert contents._within(sheets, 0) == {sheets[0]}
    assert contents._within(sheets, 10**6) == set(sheets)
    assert contents._within([], 10) == set()


def test_prose_is_whole_and_titles_are_cut() -> None:
    words = "word " * 300
    figure = Figure(words, words, SVG, Sheet("t", (Heading("x", "name"),), ((Cell("a"),),), (words,)))
    tree = reading.read(page.render(Page("t", (Section("s", (words, figure)),), words)))
    whole = [one.text for one in tree.all("p")] + [one.text for one in tree.all("li") if "word" in one.text]
    assert whole == [words] * 3
    caption = tree.one("figcaption").text
    assert caption.endswith(words)
    assert len(caption) < len(words) + 250
