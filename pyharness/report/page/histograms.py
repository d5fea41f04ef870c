"""Histograms of a record, drawn side by side: lengths of tokens, and tokens by rank, of one text, of few rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pyharness.metrics.counting.histograms import LENGTHS, RANKS, TEXT, TYPES, VOCABULARY
from pyharness.report.charts import AxisLabel, Line, Panel, Point, curves
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.cases import row_cell, trained_note
from pyharness.report.sheet.parts import Figure, Section
from pyharness.store import Record
from pyharness.types import COUNT, CaseResult, Format, Histogram, counted

_DIGITS = Format("{:.0f}")
MOST_ROWS = 8  # drawn rows, the reference first: lines of more cannot be distinguished


@dataclass(frozen=True, slots=True)
class TextHistograms:
    """Rows with a histogram of the same text."""

    name: str  # of the histogram
    text: str
    results: tuple[CaseResult, ...]  # one for each row
    left_out: tuple[str, ...]  # rows and texts that are not drawn, in sentences
    rows: list[str]  # all of the page

    @classmethod
    def of(cls, record: Record, name: str, first: int, series: Sequence[str]) -> TextHistograms | None:
        """Choose the text for which most rows have the histogram, or the largest of several; None if no row has one.

        A valid histogram begins at ``first`` and has counts in each of ``series``.
        """
        by_text: dict[tuple[str, str, int], dict[str, CaseResult]] = {}
        for result in record.results:
            if result.tally and result.case.corpus and _is_one(result.histograms.get(name), first, series):
                rows = by_text.setdefault((result.case.corpus, result.tally.digest, result.tally.bytes), {})
                rows.setdefault(result.case.tokenizer, result)
        if not by_text:
            return None
        (text, _, _), rows = max(by_text.items(), key=lambda one: (len(one[1]), one[0][2]))
        reference = record.data["suite"].get("reference")
        ordered = sorted(rows.values(), key=lambda one: one.case.tokenizer != reference)
        kept, others = tuple(ordered[:MOST_ROWS]), len(by_text) - 1
        left_out = [f"Drawn: {text}. The record has the counts of {counted(others, 'more text')}."] if others else []
        if len(ordered) > MOST_ROWS:
            left_out.append(f"Drawn: {MOST_ROWS} of {len(ordered):,} rows. The record has the counts of all.")
        return cls(name, text, kept, tuple(left_out), list(record.data["tokenizers"]))

    def histograms(self) -> Iterator[tuple[CaseResult, Histogram]]:
        """Yield rows with their histogram."""
        yield from ((result, result.histograms[self.name]) for result in self.results)

    def edges(self) -> tuple[int, ...]:
        """Edges of the longest histogram: bins are the same for every row."""
        return max((histogram.edges for _, histogram in self.histograms()), key=len)


def _is_one(histogram: Histogram | None, first: int, series: Sequence[str]) -> bool:
    if histogram is None or histogram.edges[:1] != (first,):
        return False
    return all(any(histogram.counts.get(name, ())) for name in series)


def bin_headings(edges: Sequence[int]) -> tuple[Heading, ...]:
    """Return the headings of bins, by the whole numbers in them."""
    bins = ((low, high - 1) for low, high in pairwise(edges))
    return tuple(Heading(f"{low:,}" if low == last else f"{low:,}-{last:,}", "number") for low, last in bins)


def bin_cells(histogram: Histogram, what: str, count: int) -> tuple[Cell, ...]:
    """Return counts by bin, with empty cells behind the last up to ``count`` cells. The shown number is exact."""
    shown = [Cell(value, _DIGITS) for value in histogram.counts.get(what, ())]
    return (*shown, *(Cell() for _ in range(count - len(shown))))


def at_least(row: str, histogram: Histogram, what: str, noun: str) -> Line | None:
    """Return per cent of the counts at a bin's lower edge or above, edge by edge; None without counts."""
    counts = histogram.counts.get(what, ())
    if not (total := sum(counts)):
        return None
    above = [*list(accumulate(reversed(counts)))[::-1], 0]
    end = above.index(0) + 1  # every count at that edge or above is zero
    points = [(low, 100 * count / total) for low, count in list(zip(histogram.edges, above, strict=True))[:end]]
    return Line(row, tuple(Point(x, y, f"{y:.1f} % of {noun} from {x:,} on") for x, y in points), marked=False)


# ---------------------------------------------------------------------------------------------- lengths in bytes


_BY_LENGTH = "Lengths of tokens"
_COUNTED = {TEXT: "tokens of the text", VOCABULARY: "entries of the vocabulary"}
_LENGTHS_NOTE = (
    "A cell counts tokens, or entries, of these lengths in bytes. The chart shows the share of at least that length."
)


def lengths(record: Record) -> Iterator[Section]:
    """Yield one section, if rows have counts by length."""
    if (counted := TextHistograms.of(record, LENGTHS, 0, (TEXT,))) is None:
        return
    panels = []
    for what, noun in _COUNTED.items():
        lines = (at_least(result.case.tokenizer, histogram, what, noun) for result, histogram in counted.histograms())
        panels.append(Panel(noun, AxisLabel("% at least as long"), tuple(line for line in lines if line is not None)))
    title = f"{_BY_LENGTH}: {counted.text}"
    description = (
        "Share of the tokens of the text, and of the entries of the vocabulary, with at least that many bytes. "
        "Further right: longer tokens."
    )
    drawn = curves(panels, title, AxisLabel("bytes of a token", log=True), counted.rows)
    figure = Figure(title, description, drawn, _lengths_sheet(counted, title))
    yield Section(_BY_LENGTH, (*counted.left_out, figure))


def _lengths_sheet(counted: TextHistograms, title: str) -> Sheet:
    edges = counted.edges()
    heads = (Heading("tokenizer", "name"), Heading("counted", "word"), Heading("all"), *bin_headings(edges))
    rows = tuple(
        (
            row_cell(result.case.tokenizer, [result]),
            Cell(noun),
            Cell(sum(histogram.counts.get(what, ())), COUNT, case=result.case.key),
            *bin_cells(histogram, what, len(edges) - 1),
        )
        for what, noun in _COUNTED.items()
        for result, histogram in counted.histograms()
    )
    return Sheet(title, heads, rows, (*trained_note(counted.results), _LENGTHS_NOTE))


# ---------------------------------------------------------------------------------------------- ranks


_BY_RANK = "Tokens by rank"
_RANKS_NOTES = (
    "A cell counts tokens of the text by the rank of their id; rank 1 is the commonest id. Ids: those that occur.",
    "Occurrences of an id: tokens of a bin / its ids, at the geometric middle of its ranks.",
    "Counts of this text alone, without a CI.",
)


def ranks(record: Record) -> Iterator[Section]:
    """Yield one section, if rows have counts by rank."""
    if (counted := TextHistograms.of(record, RANKS, 1, (TEXT, TYPES))) is None:
        return
    lines = tuple(frequencies(result.case.tokenizer, histogram) for result, histogram in counted.histograms())
    panel = Panel("", AxisLabel("occurrences of an id", log=True), lines)
    description = "How often an id occurs in the text, by its rank: Zipf's law is a straight line."
    title = f"{_BY_RANK}: {counted.text}"
    drawn = curves([panel], title, AxisLabel("rank", log=True), counted.rows)
    figure = Figure(title, description, drawn, _ranks_sheet(counted, title))
    yield Section(_BY_RANK, (*counted.left_out, figure))


def frequencies(row: str, histogram: Histogram) -> Line:
    """Return mean occurrences of the ids of a bin, at the geometric middle of their ranks."""
    bins = zip(histogram.edges, histogram.counts[TEXT], histogram.counts[TYPES], strict=False)
    points = [(math.sqrt(low * (low + types - 1)), tokens / types) for low, tokens, types in bins if types]
    description = f"{sum(histogram.counts[TYPES]):,} ids, the commonest {histogram.counts[TEXT][0]:,} times"
    return Line(row, tuple(Point(x, y, description) for x, y in points), marked=False)


def _ranks_sheet(counted: TextHistograms, title: str) -> Sheet:
    edges = counted.edges()
    heads = (Heading("tokenizer", "name"), Heading("ids"), *bin_headings(edges))
    rows = tuple(
        (
            row_cell(result.case.tokenizer, [result]),
            Cell(sum(histogram.counts[TYPES]), COUNT, case=result.case.key),
            *bin_cells(histogram, TEXT, len(edges) - 1),
        )
        for result, histogram in counted.histograms()
    )
    return Sheet(title, heads, rows, (*trained_note(counted.results), *_RANKS_NOTES))
