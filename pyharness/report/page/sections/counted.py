"""Histograms of a record that are drawn beside each other: of one text, and of few rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pyharness.report.charts import Line, Point
from pyharness.report.sheet import Cell, Heading
from pyharness.store import Record
from pyharness.types import CaseResult, Format, Histogram

_DIGITS = Format("{:.0f}")
MOST_ROWS = 8  # that are drawn, the reference first: lines of more are not told apart


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that have a histogram of the same text."""

    name: str  # of the histogram
    text: str
    results: tuple[CaseResult, ...]  # one for each row
    left_out: tuple[str, ...]  # what is not drawn, in sentences

    @classmethod
    def of(cls, record: Record, name: str, first: int, series: Sequence[str]) -> Counted | None:
        """Choose the text that most rows have the histogram of, of several the largest; None where no row has one.

        A histogram begins at ``first`` and has counted something in each of ``series``: others are none of this name.
        """
        by_text: dict[tuple[str, str], dict[str, CaseResult]] = {}
        for result in record.results:
            if result.tally and result.case.corpus and _is_one(result.histograms.get(name), first, series):
                rows = by_text.setdefault((result.case.corpus, result.tally.digest), {})
                rows.setdefault(result.case.tokenizer, result)
        if not by_text:
            return None
        (text, _), rows = max(by_text.items(), key=lambda one: (len(one[1]), _bytes(one[1])))
        reference = record.data["suite"].get("reference")
        ordered = sorted(rows.values(), key=lambda one: one.case.tokenizer != reference)
        kept, others = tuple(ordered[:MOST_ROWS]), len(by_text) - 1
        said = [f"Drawn on {text}; the record has the counts of {others:,} more."] if others else []
        if len(ordered) > MOST_ROWS:
            said.append(f"{MOST_ROWS} of {len(ordered):,} rows are drawn; the record has the counts of all.")
        return cls(name, text, kept, tuple(said))

    def histograms(self) -> Iterator[tuple[CaseResult, Histogram]]:
        """Rows with their histogram."""
        yield from ((result, result.histograms[self.name]) for result in self.results)

    def edges(self) -> tuple[int, ...]:
        """Edges of the longest histogram: bins are the same for every row."""
        return max((known.edges for _, known in self.histograms()), key=len)


def _is_one(known: Histogram | None, first: int, series: Sequence[str]) -> bool:
    return known is not None and known.edges[:1] == (first,) and all(any(known.counts.get(one, ())) for one in series)


def _bytes(rows: dict[str, CaseResult]) -> int:
    return max(result.tally.bytes if result.tally else 0 for result in rows.values())


def headings(edges: Sequence[int]) -> tuple[Heading, ...]:
    """Name bins by the whole numbers in them."""
    bins = ((low, high - 1) for low, high in pairwise(edges))
    return tuple(Heading(f"{low:,}" if low == last else f"{low:,}-{last:,}", "number") for low, last in bins)


def cells(known: Histogram, what: str, count: int) -> tuple[Cell, ...]:
    """Counts by bin, as many as a table has; beyond the last there is nothing. What is shown is all that is to say."""
    shown = [Cell(value, _DIGITS) for value in known.counts.get(what, ())]
    return (*shown, *(Cell() for _ in range(count - len(shown))))


def at_least(row: str, known: Histogram, what: str, noun: str) -> Line | None:
    """Per cent of what is counted that lies at a bin's lower edge or above, edge by edge; None of nothing."""
    counts = known.counts.get(what, ())
    if not (total := sum(counts)):
        return None
    above = [*list(accumulate(reversed(counts)))[::-1], 0]
    end = above.index(0) + 1  # nothing lies at that edge or above
    points = [(low, 100 * count / total) for low, count in list(zip(known.edges, above, strict=True))[:end]]
    return Line(row, tuple(Point(x, y, f"{y:.1f} % of {noun} from {x:,} on") for x, y in points), marked=False)
