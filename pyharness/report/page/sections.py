"""Sections of the page of one record, in their order, with benchmarks' drawings. Missing data gives no section."""

from __future__ import annotations

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

MOST_DRAWN = 6  # of one plot with a table for each text: the others are in the tables below
_WIDE = 2.0  # positive values with a range of this factor get a logarithmic axis, if their plot has one


def missing(record: Record) -> Iterator[Section]:
    """Yield failed and skipped cases, with the reasons."""
    sheet = not_measured(record.results)
    if sheet.rows or not record.data["complete"]:
        counts = Counter(result.status for result in record.results)
        outcomes = ", ".join(f"{counts[status]:,} {status}" for status in ("ok", "skipped", "failed") if counts[status])
        cut = () if record.data["complete"] else ("The run was interrupted before it was complete.",)
        yield Section("Failed or skipped", (*cut, f"Cases: {outcomes or 'none'}.", *(sheet,) * bool(sheet.rows)))


def listings(record: Record) -> Iterator[Section]:
    """Yield dead tokens and other listings of benchmarks, with witnesses: all entries of the record."""
    for sheet in listing_sheets(record, all_entries=True):
        if sheet.rows:
            yield Section(sheet.title, (sheet,), folded=True)


def plots(record: Record) -> Iterator[Section]:
    """Yield one section for each benchmark with a drawing, in the order of the tables."""
    drawn = [one for one in plotted(record) if any(_has_a_place(one[1], row) for row in one[2].rows)]
    for benchmark, of_benchmark in groupby(drawn, key=lambda one: one[0]):
        blocks: list[Block] = []
        for _, of_plot in groupby(of_benchmark, key=lambda one: id(one[1])):
            several = [(plot, sheet) for _, plot, sheet in of_plot]
            blocks += [_figure(record, plot, sheet) for plot, sheet in several[:MOST_DRAWN]]
            if left_out := len(several[MOST_DRAWN:]):
                title = several[0][0].table.title
                blocks.append(f"{title}: drawn of {MOST_DRAWN} texts; of {left_out} more it is in the tables below.")
        yield Section(benchmark.replace("_", " ").capitalize(), tuple(blocks))


def _figure(record: Record, plot: Plot, sheet: Sheet) -> Figure:
    named = record.data["suite"].get("reference")
    reference = named if isinstance(named, str) else None
    if plot.drawing == "points":
        return Figure(sheet.title, plot.about, _points(record, plot, sheet), sheet)
    if plot.drawing == "dots by column":
        sheet = turned(sheet, reference)
    return Figure(sheet.title, _described(plot, sheet, reference), _dots(plot, sheet, reference), sheet)


def _described(plot: Plot, sheet: Sheet, reference: str | None) -> str:
    sentences = [plot.about]
    better = {heading.direction for heading in sheet.headings[1:]} - {"none"}
    sentences += [f"{direction.capitalize()} is better." for direction in better if len(better) == 1]
    if reference in {row[0].value for row in sheet.rows}:
        sentences.append(f"Diamond and dashed line: {reference}.")
    return " ".join(sentences)


def _dots(plot: Plot, sheet: Sheet, reference: str | None) -> str:
    """Return columns as panels, if there are several."""
    columns = sheet.headings[1:]
    drawn = [
        Dot(str(row[0].value), row[place], panel=heading.title if len(columns) > 1 else "")
        for place, heading in enumerate(columns, 1)
        for row in sheet.rows
    ]
    axis = _axis(sheet, columns, plot.axis)
    return dots(drawn, sheet.title, axis, reference=reference, at=plot.at, log=plot.log)


def _axis(sheet: Sheet, columns: Sequence[Heading], named: str = "") -> str:
    """Return the quantity of some columns, in the unit shown."""
    metrics = dict.fromkeys(heading.metric.replace("_", " ") for heading in columns if heading.metric)
    words = (named,) if named else metrics
    places = [sheet.headings.index(heading) for heading in columns]
    shown = [row[place].format.unit or sheet.headings[place].unit for place in places for row in sheet.rows]
    return ", ".join((*words, *dict.fromkeys(filter(None, shown))))


def turned(sheet: Sheet, reference: str | None) -> Sheet:
    """Transpose rows and columns, sorted by the numbers of the reference or else of the first row."""
    of_rows = {str(row[0].value): row[1:] for row in sheet.rows}
    first = of_rows.get(reference or "", sheet.rows[0][1:])
    order = sorted(range(len(first)), key=lambda place: (not _is_number(first[place]), _number(first[place])))
    head, column = sheet.headings[0], sheet.headings[1]
    headings = (Heading(column.metric or head.title, "name"), *(replace(column, title=row) for row in of_rows))
    rows = tuple(
        (Cell(sheet.headings[place + 1].title), *(cells[place] for cells in of_rows.values())) for place in order
    )
    return Sheet(sheet.title, headings, rows, sheet.notes)


def _points(record: Record, plot: Plot, sheet: Sheet) -> str:
    """Return rows at their first number, against each of the others."""
    across, *others = sheet.headings[1:]
    panels = []
    for heading in others:
        lines = tuple(_lines(record, plot, sheet, heading))
        ends = [point.y for line in lines for point in line.points]
        wide = plot.log and bool(ends) and min(ends) > 0 and max(ends) >= _WIDE * min(ends)
        if ends:
            title = heading.title if len(others) > 1 else ""
            panels.append(Panel(title, AxisLabel(_axis(sheet, [heading]), wide), lines))
    return curves(panels, sheet.title, AxisLabel(", ".join(filter(None, (across.title, across.unit))), plot.log))


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
    """Return whether any number of a row is drawn; a point needs two numbers, above zero on a logarithmic axis."""
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


SECTIONS: tuple[SectionsOf, ...] = (answer, missing, plots, ranks, lengths, listings)
