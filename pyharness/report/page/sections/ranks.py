"""Tokens by rank: how often the commonest token occurs, and the next ones, and what share of the text they make."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

from pyharness.metrics.counting.histograms import RANKS, TEXT, TYPES
from pyharness.report.charts import Axis, Line, Panel, Point, curves
from pyharness.report.page.parts import Figure, Section
from pyharness.report.page.sections.counted import Counted, cells, headings
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.store import Record
from pyharness.types import COUNT, Histogram

_TITLE = "Tokens by rank"
_NOTES = (
    "A cell: tokens of the text whose ids have these ranks; rank 1 is the commonest id. Ids: those that occur.",
    "Left: tokens of a bin / its ids, at the geometric middle of its ranks. Right: tokens up to the end of a bin.",
)


def ranks(record: Record) -> Iterator[Section]:
    """One section, where rows have counts by rank."""
    if (counted := Counted.of(record, RANKS, 1, (TEXT, TYPES))) is not None:
        yield Section(_TITLE, (*counted.left_out, _figure(counted)))


def _figure(counted: Counted) -> Figure:
    known = [(result.case.tokenizer, one) for result, one in counted.histograms()]
    panels = (
        Panel("occurrences of an id", Axis("times", log=True), tuple(frequencies(*one) for one in known)),
        Panel("share of the commonest ids", Axis("% of the tokens"), tuple(shares(*one) for one in known)),
    )
    title = f"{_TITLE}: {counted.text}"
    description = (
        "Left: how often an id occurs in the text, by its rank, both logarithmic; Zipf's law is a straight line. "
        "Right: per cent of the text's tokens that the ids up to a rank make; lower means more even use."
    )
    return Figure(title, description, curves(panels, title, Axis("rank", log=True)), _numbers(counted, title))


def frequencies(row: str, known: Histogram) -> Line:
    """Mean occurrences of the ids of a bin, at the geometric middle of their ranks."""
    bins = zip(known.edges, known.counts[TEXT], known.counts[TYPES], strict=False)
    points = [(math.sqrt(low * (low + types - 1)), tokens / types) for low, tokens, types in bins if types]
    said = f"{sum(known.counts[TYPES]):,} ids, the commonest {known.counts[TEXT][0]:,} times"
    return Line(row, tuple(Point(x, y, said) for x, y in points), marked=False)


def shares(row: str, known: Histogram) -> Line:
    """Per cent of the tokens that ids up to the last rank of a bin make."""
    total = sum(known.counts[TEXT])
    ends = (low + types - 1 for low, types in zip(known.edges, known.counts[TYPES], strict=False))
    reached = [(end, 100 * tokens / total) for end, tokens in zip(ends, accumulate(known.counts[TEXT]), strict=True)]
    half = next(end for end, share in reached if share >= 50)
    return Line(row, tuple(Point(x, y, f"half of the tokens by rank {half:,}") for x, y in reached), marked=False)


def _numbers(counted: Counted, title: str) -> Sheet:
    edges = counted.edges()
    heads = (Heading("tokenizer", "name"), Heading("ids"), *headings(edges, "token"))
    rows = tuple(
        (
            Cell(result.case.tokenizer),
            Cell(sum(known.counts[TYPES]), COUNT, case=result.case.key),
            *cells(result, known, TEXT, len(edges) - 1),
        )
        for result, known in counted.histograms()
    )
    return Sheet(title, heads, rows, _NOTES)
