"""Tokens by rank: how often the commonest token occurs, and the next ones, and where rows differ in that."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pyharness.metrics.counting.histograms import RANKS, TEXT, TYPES
from pyharness.report.charts import Axis, Line, Panel, Point, curves
from pyharness.report.page.parts import Figure, Section
from pyharness.report.page.sections.counted import Counted, cells, headings
from pyharness.report.rows.trained_on import note, row_cell
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.escaping import visible
from pyharness.report.sheet.shortening import shorten
from pyharness.store import Record
from pyharness.types import COUNT, Histogram

_TITLE = "Tokens by rank"
_NOTES = (
    "A cell: tokens of the text whose ids have these ranks; rank 1 is the commonest id. Ids: those that occur.",
    "Occurrences of an id: tokens of a bin / its ids, at the geometric middle of its ranks.",
    "Counts of this very text: no interval says what other text of the kind would give.",
)
_LONGEST = 22  # characters of a row above a panel
_WIDE = 2.0  # what spans this factor is drawn on a logarithmic axis


def ranks(record: Record) -> Iterator[Section]:
    """One section, where rows have counts by rank."""
    if (counted := Counted.of(record, RANKS, 1, (TEXT, TYPES))) is not None:
        yield Section(_TITLE, (*counted.left_out, _figure(counted)))


def _figure(counted: Counted) -> Figure:
    (first, reference), *others = [(result.case.tokenizer, one) for result, one in counted.histograms()]
    lines = (frequencies(row, known) for row, known in ((first, reference), *others))
    panels = [Panel("occurrences of an id", Axis("times", log=True), tuple(lines))]
    description = "How often an id occurs in the text, by its rank, both logarithmic: Zipf's law is a straight line."
    if others:
        panels.append(_beside(first, reference, others))
        description += f" Beside it the tokens that ids of about a rank make, in per cent of those of {first}."
    title = f"{_TITLE}: {counted.text}"
    return Figure(title, description, curves(panels, title, Axis("rank", log=True)), _numbers(counted, title))


def frequencies(row: str, known: Histogram) -> Line:
    """Mean occurrences of the ids of a bin, at the geometric middle of their ranks."""
    bins = zip(known.edges, known.counts[TEXT], known.counts[TYPES], strict=False)
    points = [(math.sqrt(low * (low + types - 1)), tokens / types) for low, tokens, types in bins if types]
    said = f"{sum(known.counts[TYPES]):,} ids, the commonest {known.counts[TEXT][0]:,} times"
    return Line(row, tuple(Point(x, y, said) for x, y in points), marked=False)


def relative(row: str, known: Histogram, reference: Histogram) -> Line:
    """Tokens of a bin in per cent of the reference's, at the geometric middle of the bin."""
    middles = (math.sqrt(low * (high - 1)) for low, high in zip(known.edges, known.edges[1:], strict=False))
    pairs = zip(middles, known.counts[TEXT], reference.counts[TEXT], strict=False)
    points = [(x, 100 * mine / theirs) for x, mine, theirs in pairs if theirs]
    said = f"{min(y for _, y in points):.1f} to {max(y for _, y in points):.1f} %" if points else ""
    return Line(row, tuple(Point(x, y, said) for x, y in points), marked=False)


def _beside(first: str, reference: Histogram, others: list[tuple[str, Histogram]]) -> Panel:
    lines = [relative(row, known, reference) for row, known in ((first, reference), *others)]
    ends = [point.y for line in lines for point in line.points if point.y > 0]
    log = bool(ends) and max(ends) >= _WIDE * min(ends)
    return Panel(f"tokens, beside {shorten(visible(first), _LONGEST)}", Axis("%", log=log), tuple(lines))


def _numbers(counted: Counted, title: str) -> Sheet:
    edges = counted.edges()
    heads = (Heading("tokenizer", "name"), Heading("ids"), *headings(edges))
    rows = tuple(
        (
            row_cell(result.case.tokenizer, [result]),
            Cell(sum(known.counts[TYPES]), COUNT, case=result.case.key),
            *cells(known, TEXT, len(edges) - 1),
        )
        for result, known in counted.histograms()
    )
    return Sheet(title, heads, rows, (*note(counted.results), *_NOTES))
