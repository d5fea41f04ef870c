"""Sections of the page of one record, in their order, with benchmarks' drawings. Missing data gives no section."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from pyharness.plugins import registry
from pyharness.report.charts import AxisLabel, Dot, Line, Panel, Point, curves, dots
from pyharness.report.page.answer import answer
from pyharness.report.page.histograms import lengths, ranks
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.cases import not_measured
from pyharness.report.sheet.parts import Block, Figure, Section
from pyharness.report.sheet.strings import beginning
from pyharness.report.tables import listing_sheets, plotted
from pyharness.store import Record, case_record_kind
from pyharness.types import Plot

FRONTIER = "frontier"
MOST_DRAWN = 6  # texts of one plot: the others are in the tables below
_WIDE = 2.0  # positive values with a range of this factor get a logarithmic axis, if their plot has one


def missing(record: Record) -> Iterator[Section]:
    """Yield failed and skipped cases, with the reasons."""
    sheet = not_measured(record.results)
    if sheet.rows or not record.data["complete"]:
        counts = Counter(result.status for result in record.results)
        outcomes = ", ".join(f"{counts[status]:,} {status}" for status in ("ok", "skipped", "failed") if counts[status])
        cut = () if record.data["complete"] else ("The run is not complete.",)
        yield Section("Failed or skipped", (*cut, f"Cases: {outcomes or 'none'}.", *(sheet,) * bool(sheet.rows)))


def listings(record: Record) -> Iterator[Section]:
    """Yield dead tokens and other listings of benchmarks, with witnesses: all entries of the record."""
    for sheet in listing_sheets(record, all_entries=True):
        if sheet.rows:
            yield Section(sheet.title, (sheet,), folded=True)


def tradeoffs(record: Record) -> Iterator[Section]:
    """Yield one section for each drawing with a frontier: what two numbers of one row say together."""
    for _, plot, of_texts in _drawings(record):
        if plot.drawing == FRONTIER:
            yield Section("Trade-off", tuple(_blocks(record, plot, of_texts)))


def plots(record: Record) -> Iterator[Section]:
    """Yield one section for each benchmark with a drawing, in the order of the tables."""
    others = [one for one in _drawings(record) if one[1].drawing != FRONTIER]
    for benchmark, several in groupby(others, key=lambda one: one[0]):
        blocks = [block for _, plot, of_texts in several for block in _blocks(record, plot, of_texts)]
        yield Section(benchmark.replace("_", " ").capitalize(), tuple(blocks))


def figures(record: Record) -> list[Figure]:
    """Return the figures of ``plots``, without trade-offs and other sections."""
    return [block for section in plots(record) for block in section.blocks if isinstance(block, Figure)]


def _drawings(record: Record) -> Iterator[tuple[str, Plot, list[Sheet]]]:
    """Yield drawings with their benchmark, and those of their sheets that have a number to draw."""
    for benchmark, plot, sheets in plotted(record):
        if kept := [sheet for sheet in sheets if any(_has_a_place(plot, row) for row in sheet.rows)]:
            yield benchmark, plot, kept


def _blocks(record: Record, plot: Plot, of_texts: Sequence[Sheet]) -> Iterator[Block]:
    """Yield one figure with a panel for each text; with panels by row, one for each text."""
    kept = of_texts[:MOST_DRAWN]
    for some in [[one] for one in kept] if plot.drawing == "dots by column" else [kept]:
        yield _figure(record, plot, some)
    if left_out := len(of_texts) - len(kept):
        yield f"{plot.table.title}: {MOST_DRAWN} texts are drawn. {left_out} more are in the tables below."


def _figure(record: Record, plot: Plot, of_texts: Sequence[Sheet]) -> Figure:
    named = record.data["suite"].get("reference")
    reference = named if isinstance(named, str) else None
    sheet = side_by_side(plot, of_texts)
    if plot.drawing in ("points", FRONTIER):
        bold = " In bold and joined: no other row is as good in both and better in one." * (plot.drawing == FRONTIER)
        return Figure(sheet.title, plot.about + bold, _points(record, plot, of_texts, sheet.title), sheet)
    if plot.drawing == "curve":
        return Figure(sheet.title, plot.about, _curve(record, plot, of_texts, sheet.title), sheet)
    about = _describe(plot, sheet, reference)
    if plot.drawing == "dots by column":
        about, sheet = _describe(plot, sheet, None), turned(sheet, reference)
    drawn = _dots(record, plot, sheet, reference, beside=len(of_texts[0].headings) - 1)
    return Figure(sheet.title, about, drawn, sheet)


def side_by_side(plot: Plot, of_texts: Sequence[Sheet]) -> Sheet:
    """Join sheets of several texts: columns of each text, under its name."""
    if len(of_texts) == 1:
        return of_texts[0]
    rows = {row[0].value: row[0] for sheet in of_texts for row in sheet.rows}
    columns: list[tuple[Heading | Cell, ...]] = [(of_texts[0].headings[0], *rows.values())]
    for sheet in of_texts:
        by_row, text = {row[0].value: row for row in sheet.rows}, _text(plot, sheet)
        for place, heading in enumerate(sheet.headings[1:], 1):
            titled = replace(heading, title=f"{text}: {heading.title}" if len(sheet.headings) > 2 else text)
            columns.append((titled, *(by_row[row][place] if row in by_row else Cell() for row in rows)))
    headings, *cells = zip(*columns, strict=True)
    notes = dict.fromkeys(note for sheet in of_texts for note in sheet.notes)
    return Sheet(plot.table.title, headings, tuple(cells), tuple(notes))


def _text(plot: Plot, sheet: Sheet) -> str:
    """Return the text of a sheet, with its variant."""
    return sheet.title.removeprefix(plot.table.title).lstrip(":, ")


def _describe(plot: Plot, sheet: Sheet, reference: str | None) -> str:
    sentences = [plot.about]
    better = {heading.direction for heading in sheet.headings[1:]} - {"none"}
    sentences += [f"{direction.capitalize()} is better." for direction in better if len(better) == 1]
    if reference in {row[0].value for row in sheet.rows}:
        sentences.append(f"Dashed line: {reference}.")
    return " ".join(sentences)


def _dots(record: Record, plot: Plot, sheet: Sheet, reference: str | None, *, beside: int) -> str:
    """Return columns as panels, if there are several; each tokenizer, be it a row or a panel, has its own look."""
    columns, by_row = sheet.headings[1:], plot.drawing == "dots"
    drawn = [
        Dot(row, cells[place], heading.title if len(columns) > 1 else "", row if by_row else heading.title)
        for place, heading in enumerate(columns)
        for row, cells in ((str(row[0].value), row[1:]) for row in sheet.rows)
    ]
    axis, rows = _axis(sheet, columns, plot.axis), list(record.data["tokenizers"])
    beside = beside if by_row and beside > 1 else 3
    return dots(drawn, sheet.title, axis, reference=reference, at=plot.at, log=plot.log, rows=rows, beside=beside)


def _axis(sheet: Sheet, columns: Sequence[Heading], named: str = "") -> str:
    """Return the quantity of some columns, in the unit shown."""
    metrics = dict.fromkeys(heading.metric.replace("_", " ") for heading in columns if heading.metric)
    words = (named,) if named else metrics
    places = [sheet.headings.index(heading) for heading in columns]
    drawn = [(place, row[place]) for place in places for row in sheet.rows if _is_number(row[place])]
    shown = dict.fromkeys(cell.format.unit or sheet.headings[place].unit for place, cell in drawn)
    # "tokens per word" says its unit already, token/word
    units = [unit for unit in shown if unit and unit.replace("/", "s per ") not in words]
    return ", ".join((*words, *units))


def turned(sheet: Sheet, reference: str | None) -> Sheet:
    """Transpose rows and columns, sorted by the numbers of the reference or else of the first row."""
    of_rows = {str(row[0].value): row[1:] for row in sheet.rows}
    first = of_rows.get(reference or "", sheet.rows[0][1:])
    order = sorted(range(len(first)), key=lambda place: (not _is_number(first[place]), _number(first[place])))
    head, column = sheet.headings[0], sheet.headings[1]
    column = replace(column, direction="none")  # its best number would mark a language, not a row
    headings = (Heading(column.metric or head.title, "name"), *(replace(column, title=row) for row in of_rows))
    rows = tuple(
        (Cell(sheet.headings[place + 1].title), *(cells[place] for cells in of_rows.values())) for place in order
    )
    return Sheet(sheet.title, headings, rows, sheet.notes)


def _points(record: Record, plot: Plot, of_texts: Sequence[Sheet], name: str) -> str:
    """Return rows at their first number, against each of the others, text by text."""
    panels: list[Panel] = []
    for sheet in of_texts:
        best = tuple(frontier(sheet)) if plot.drawing == FRONTIER else ()
        text, *others = _text(plot, sheet) if len(of_texts) > 1 else "", *sheet.headings[2:]
        for heading in others:
            title = ", ".join(filter(None, (text, heading.title if len(others) > 1 else "")))
            lines = tuple(_lines(record, plot, sheet, heading))
            panels += [Panel(title, AxisLabel(_axis(sheet, [heading], plot.axis)), lines, best)] if lines else []
    ends: dict[AxisLabel, list[float]] = {}
    for panel in panels:
        ends.setdefault(panel.y, []).extend(point.y for line in panel.lines for point in line.points)
    wide = {y: plot.log and min(values) > 0 and max(values) >= _WIDE * min(values) for y, values in ends.items()}
    panels = [replace(panel, y=replace(panel.y, log=wide[panel.y])) for panel in panels]
    across = of_texts[0].headings[1]
    x = across.title if "/" in across.title else ", ".join(filter(None, (across.title, across.unit)))
    return curves(panels, name, AxisLabel(x, plot.log and plot.drawing == "points"), list(record.data["tokenizers"]))


def _curve(record: Record, plot: Plot, of_texts: Sequence[Sheet], name: str) -> str:
    """Return rows as lines over the numbers in the titles of their columns, text by text."""
    panels = [Panel(_text(plot, sheet), AxisLabel(_axis(sheet, sheet.headings[1:], plot.axis)),
                    tuple(line for line in _over_columns(sheet) if line.points)) for sheet in of_texts]  # fmt: skip
    across = AxisLabel(plot.table.columns[0].title.replace("{part}", "%"))
    return curves(panels, name, across, list(record.data["tokenizers"]))


def _over_columns(sheet: Sheet) -> Iterator[Line]:
    for row in sheet.rows:
        cells = [(head.title, cell) for head, cell in zip(sheet.headings[1:], row[1:], strict=True) if _is_number(cell)]
        places = ((float(re.findall(r"[0-9.]+", title)[0]), cell, f"{title}, {cell.text}") for title, cell in cells)
        yield Line(str(row[0].value), tuple(Point(x, _number(y) * y.format.scale, said) for x, y, said in places))


def frontier(sheet: Sheet) -> list[str]:
    """Return the Pareto front of the first two numbers: no other row is as good in both and better in one."""
    signs = [-1 if heading.direction == "lower" else 1 for heading in sheet.headings[1:3]]
    numbers = {str(row[0].value): row[1:3] for row in sheet.rows if all(map(_is_number, row[1:3]))}
    places = {row: [sign * _number(one) for sign, one in zip(signs, of, strict=True)] for row, of in numbers.items()}

    def is_beaten(mine: Sequence[float]) -> bool:
        return any(other != mine and all(map(operator.ge, other, mine)) for other in places.values())

    return sorted((row for row, mine in places.items() if not is_beaten(mine)), key=lambda row: (places[row], row))


def _lines(record: Record, plot: Plot, sheet: Sheet, heading: Heading) -> Iterator[Line]:
    """Yield points of rows; those of one recipe are joined from the least to the most."""
    place, across = sheet.headings.index(heading), sheet.headings[1]
    joined: dict[str, list[tuple[str, Point]]] = {}
    for row in sheet.rows:
        label, x, y = str(row[0].value), row[1], row[place]
        if _is_number(x) and _is_number(y):
            scale = y.format.scale
            ends = None if y.interval is None else (y.interval[0] * scale, y.interval[1] * scale)
            description = f"{across.title} {x.text}, {heading.title} {y.text}"
            name = plot.joins(record.data, label) if plot.joins is not None else None
            point = Point(_number(x) * x.format.scale, _number(y) * scale, description, ends)
            joined.setdefault(f"line {name}" if name is not None else f"row {label}", []).append((label, point))
    for rows in joined.values():
        rows.sort(key=lambda one: one[1].x)
        points = (replace(one, said=f"{label}, {one.said}") if len(rows) > 1 else one for label, one in rows)
        yield Line(_common([label for label, _ in rows]), tuple(points))


def _common(labels: Sequence[str]) -> str:
    """Name rows by their common beginning, or by the first and the last; a single one by itself.

    >>> _common(["bpe 1k", "bpe 2k"]), _common(["bpe-300", "bpe-360"]), _common(["a", "b"]), _common(["a"])
    ('bpe', 'bpe', 'a to b', 'a')
    """
    if len(labels) == 1:
        return labels[0]
    alike = re.match(r"(.*\w)[^\w]", labels[0][: beginning(labels)], re.DOTALL)
    return f"{labels[0]} to {labels[-1]}" if alike is None else alike[1]


def _has_a_place(plot: Plot, row: Sequence[Cell]) -> bool:
    """Return whether a row has a number to draw; in ``points`` it needs its first number and another one.

    On a logarithmic axis, that first number must be above 0.
    """
    if plot.drawing != "points":
        return any(_is_number(cell) for cell in row)
    return _is_number(row[1]) and (_number(row[1]) > 0 or not plot.log) and any(_is_number(cell) for cell in row[2:])


def _is_number(cell: Cell) -> bool:
    return isinstance(cell.value, int | float)


def _number(cell: Cell) -> float:
    return float(cell.value) if isinstance(cell.value, int | float) else 0.0


SectionsOf: TypeAlias = Callable[[Record], Iterable[Section]]


@dataclass(frozen=True, slots=True)
class OfferedSections:
    """Sections that a feature or a plug-in adds to the page of one record, behind ours."""

    name: str
    make: SectionsOf


def sections_of(record: Record) -> list[Section]:
    """Return the sections of a record, in their order."""
    offered = registry.offered("pyharness.report.page.sections", "SECTIONS").values()
    kind = case_record_kind(record.data["kind"])
    own = () if kind is None else (kind.sections,)
    return [section for make in (*SECTIONS, *own, *(one.make for one in offered)) for section in make(record)]


SECTIONS: tuple[SectionsOf, ...] = (tradeoffs, answer, missing, plots, ranks, lengths, listings)
