"""Names, reasons and tokens of strangers are text on a page: nothing in it is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import jinja2
import pytest

from paged import made, reading
from pyharness.report import page, provenance
from pyharness.report.page import Download, Figure, Page, Section, Verbatim, markup
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.parts import LONGEST_TIP
from pyharness.report.sheet.strings import shorten, visible
from strangers.names import NAMES

LONG = ("<b>" + "x" * 100_000, "\u0e20" * 33_000, "word " * 20_000)
PLAIN = "plain"
SVG = '<svg viewBox="0 0 9 9" class="chart"></svg>'


def everywhere(name: str) -> Page:
    """A page with a name in every place that one can stand in."""
    headings = (Heading(name, "name", unit=name, metric=name), Heading("x", "prose"), Heading("y", "number", unit=name))
    number = Cell(1.5, interval=(1.0, 2.0), part=name, case=name, n=name, reason=name, unit=name)
    sheet = Sheet(
        name, headings, ((Cell(name), Cell(name), number), (Cell("z"), Cell(None, reason=name), Cell(2))), (name,)
    )
    figure = Figure(name, name, SVG, sheet)
    section = Section(name, (name, Section(name, (figure,), folded=True), Verbatim(name)))
    return Page(name, (section,), name or "-", (sheet,), (Download(name, b"x", "a/b"),))


def shape(tree: reading.Element) -> list[tuple[str, tuple[str, ...]]]:
    """Elements and the names of their attributes, in order; those of tips, which cut names have, aside."""
    elements = [one for one in tree.walk() if one.tag != "span" and one.classes != ["tip"]]
    return [(one.tag, tuple(sorted({*one.attributes} - {"tabindex"}))) for one in elements]


SHAPE = shape(reading.read(page.render(everywhere(PLAIN))))


@pytest.mark.parametrize("names", [NAMES[place::8] for place in range(8)] + [LONG])
def test_no_element_is_made_of_a_name(names: Iterable[str]) -> None:
    for name in names:
        text = page.render(everywhere(name))
        text.encode()
        tree = reading.read(text)
        assert shape(tree) == SHAPE, name
        assert tree.one("title").text == shorten(visible(name), markup.LONGEST_LINE)
        assert tree.one("h1").text == shorten(visible(name), markup.LONGEST_LINE)
        row = tree.one("main").one("tbody").all("tr")[0]
        assert row.one("th").text == shorten(visible(name), markup.LONGEST["name"])
        assert row.all("td")[0].text == shorten(visible(name), markup.LONGEST["prose"])
        assert tree.one("main").one("pre").text == visible(name)
        assert row.all("td")[1].tip.endswith(shorten(visible(name), LONGEST_TIP))
        assert not {"\x00", "\x1b", "\u202e", "\u2028"} & {*text}


@pytest.mark.parametrize("names", [NAMES[place::4] for place in range(4)])
def test_rows_and_texts_of_a_record_keep_their_names(names: list[str]) -> None:
    known = [name for name in names if len(name) < markup.LONGEST["name"]]
    results = [{**made.case("x", name, name, ()), "status": "failed", "reason": name} for name in known]
    tree = reading.read(page.to_report([page.RecordFile(known[0], made.of_results(results, known, known))]))
    (rows,) = (one for one in tree.one("footer").all("table") if one.one("caption").text == "Rows")
    shown = [row.one("th").text for row in rows.one("tbody").all("tr")]
    assert shown == [visible(name) for name in known]
    assert len({*shown}) == len(known)


@pytest.mark.parametrize("name", [name for name in NAMES if "<" in name or '"' in name][:20])
def test_an_escape_that_fails_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = jinja2.Environment
    monkeypatch.setattr(jinja2, "Environment", lambda **given: real(**{**given, "autoescape": False}))
    markup._environment.cache_clear()
    try:
        with pytest.raises(AssertionError):
            test_no_element_is_made_of_a_name([name])
    finally:
        markup._environment.cache_clear()


def test_long_names_are_cut_everywhere_but_once() -> None:
    record = made.record([*LONG, "a"], ["x"])
    text = page.to_report([page.RecordFile("a.json", record)])
    assert len(text) < 500_000
    (section,) = (one for one in reading.read(text).one("footer").all("details") if "names in full" in one.text)
    for name, block in zip(LONG, section.all("pre"), strict=True):
        assert block.text.startswith(name[: provenance.LONGEST_NAME])
        assert f"{len(name):,} characters" in block.text


def test_a_download_has_a_name_that_every_system_takes(tmp_path: Path) -> None:
    for name in NAMES:
        given = provenance.file_name(name)
        assert given.isascii()
        assert len(given) <= provenance.LONGEST_FILE_NAME + 1
        assert not given.startswith((".", "-"))
        assert not {*'/\\:*?"<>|\x00 '} & {*given}
        (tmp_path / given).write_bytes(b"x")


def test_names_as_long_as_a_cell_are_whole() -> None:
    names = ["x" * markup.LONGEST["name"], "x" * (markup.LONGEST["name"] + 1)]
    sheet = Sheet("t", (Heading("row", "name"),), tuple(text_row(name) for name in names))
    shown = [row[0] for row in markup.shown_rows(sheet)]
    assert [one.text == name for one, name in zip(shown, names, strict=True)] == [True, False]
    assert [one.tip for one in shown] == ["", names[1]]
