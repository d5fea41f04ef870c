"""The answer first: tokenizers by texts, sorted, where rows that are not told apart share a rank.

A column is ranked from its best row down. A row has the rank of the first row of the rank above it, unless the paired
interval of their difference says that it is worse: then a rank begins with it. So every row is compared with one
other, and neighbours of two ranks may be no further apart than two rows of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from pyharness.benchmarks import benchmarks
from pyharness.benchmarks.notes import lossy
from pyharness.report import comparison, texts
from pyharness.report.columns import Rows, cell
from pyharness.report.rows import trained_on
from pyharness.report.rows.trained_on import row_cell
from pyharness.report.rows.variants import variant
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.shortening import shorten_apart
from pyharness.store import Record
from pyharness.types import COUNT, CaseResult, Column, InputError

T = TypeVar("T")

TEXTS = 3  # of one sheet: more do not fit on a terminal of 80 columns
LONGEST_TEXT = 15  # characters of the name of a text
NOTES = (
    "#: rank on the text; rows of one rank are not told apart from the first of them by the paired 95 % interval.",
    "Rows are sorted by the mean over the texts of how far each is behind the best, in logarithms; ±: as below.",
)
NO_RANK = "No rank: too few documents for an interval of the differences, or rows that did not read the same text."


@dataclass(frozen=True, slots=True)
class Row:
    """What is ranked: a case of a record, under a name that no other row of the table has."""

    label: str
    record: Record
    result: CaseResult

    def value(self, metric: str) -> float | None:
        """Value of a metric of the whole case."""
        of_all = [one.value for one in self.result.measurements if one.metric == metric and one.part is None]
        return of_all[0] if of_all else None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row in one column."""

    row: Row
    value: float
    rank: int | None  # from 1; None where nothing tells how sure a difference is, or where it does not compete

    @property
    def competes(self) -> bool:
        """Whether others are ranked beside it: one that does not is listed, and is neither first nor a reference."""
        return self.result.ranks

    @property
    def result(self) -> CaseResult:
        """The case that the value is from."""
        return self.row.result


def ranking_sheets(record: Record) -> list[Sheet]:
    """One sheet for each benchmark that ranks its rows, if the record has two rows of it on one text."""
    return [sheet for name, metric in rankings(record) for sheet in _sheets(record, name, metric)]


def rankings(record: Record) -> list[tuple[str, str]]:
    """Benchmarks of a record that rank their rows, with the metric that they are ranked by."""
    return [(one.name, one.ranks) for one in benchmarks().values() if one.ranks in record.data["metrics"]]


def ranked_texts(record: Record, benchmark: str, metric: str) -> dict[str, dict[str, Ranked]]:
    """Ranks of rows on each text; a text is named with the parameters in which its cases differ."""
    measured = [result for result in record.of(benchmark) if result.status == "ok"]
    by_text: dict[str, list[Row]] = {}
    for result in measured:
        about = filter(None, (result.case.corpus, variant(result, measured)))
        by_text.setdefault(", ".join(about), []).append(Row(result.case.tokenizer, record, result))
    return {text: ranked(rows, metric) for text, rows in by_text.items()}


def ranked(rows: Sequence[Row], metric: str) -> dict[str, Ranked]:
    """Ranks of rows on one text, by label, the best first; those that do not compete come last, without a rank.

    Args:
        rows: of one benchmark, text and parameters, each with a label of its own; of one record or of several that say
            the same of the metric.
        metric: one that has a direction.
    """
    valued = [(row, value) for row in rows if (value := row.value(metric)) is not None]
    higher = bool(rows) and rows[0].record.data["metrics"][metric]["direction"] == "higher"
    ordered = sorted(valued, key=lambda one: (not one[0].result.ranks, -one[1] if higher else one[1]))
    competing = [row for row, _ in ordered if row.result.ranks]
    ranks = ranks_of(competing, lambda leader, row: _is_worse(leader, row, metric))
    return {
        row.label: Ranked(row, value, rank)
        for (row, value), rank in zip_longest(ordered, ranks)  # those that do not compete come last
    }


def ranks_of(rows: Sequence[T], is_worse: Callable[[T, T], bool | None]) -> list[int] | list[None]:
    """Ranks of rows, the best of which comes first; none for any where nothing tells whether one is worse.

    ``is_worse(leader, row)``: whether a row is worse than the first of the rank above, None where nothing tells.
    """
    ranks: list[int] = []
    for place, row in enumerate(rows, 1):
        leader = rows[ranks[-1] - 1] if ranks else row
        worse = False if leader is row else is_worse(leader, row)
        if worse is None:
            return [None] * len(rows)
        ranks.append(place if worse or not ranks else ranks[-1])
    return ranks


def difference(one: Row, other: Row, metric: str) -> comparison.Difference | None:
    """Compare two rows on one text; None where they did not read the same."""
    pair = comparison.Pair(one.record, one.result, other.record, other.result)
    try:
        found = comparison.differences([pair], metric)
    except InputError:  # not the same text, or other groups
        return None
    return found[0] if found else None


def _is_worse(leader: Row, row: Row, metric: str) -> bool | None:
    found = difference(leader, row, metric)
    return found.verdict == "worse" if found is not None and found.verdict else None


def _sheets(record: Record, benchmark: str, metric: str) -> list[Sheet]:
    columns = ranked_texts(record, benchmark, metric)
    return sheets_of(metric, columns, ranking_notes(record, benchmark, columns.values()))


def sheets_of(metric: str, columns: Mapping[str, Mapping[str, Ranked]], notes: Iterable[str]) -> list[Sheet]:
    """Sheets of ranked columns, by the name of their text; none where no column has two rows."""
    if not any(len(column) > 1 for column in columns.values()):
        return []
    rows, told = ordered(list(columns.values())), tuple(notes)
    parts = [dict(list(columns.items())[start : start + TEXTS]) for start in range(0, len(columns), TEXTS)]
    return [_sheet(metric, rows, some, told if some is parts[-1] else ()) for some in parts]


def _sheet(
    metric: str, rows: Sequence[str], columns: Mapping[str, Mapping[str, Ranked]], notes: tuple[str, ...]
) -> Sheet:
    data = next(one for column in columns.values() for one in column.values()).row.record.data
    unit, direction = (data["metrics"][metric][key] for key in ("unit", "direction"))
    short = shorten_apart(columns, LONGEST_TEXT)
    headings = [Heading(data["suite"].get("rows", "tokenizer"), "name")]
    for text in columns:
        headings += [Heading(short[text], "number", unit, direction, metric), Heading("#")]
    cells = [
        (name_cell(columns, row), *(one for column in columns.values() for one in _cells(column.get(row), metric)))
        for row in rows
    ]
    return Sheet(f"Ranking by {metric.replace('_', ' ')}", tuple(headings), tuple(cells), notes)


def name_cell(columns: Mapping[str, Mapping[str, Ranked]], row: str) -> Cell:
    """Return the name of a row, marked where it was trained on a text."""
    return row_cell(row, (column[row].result for column in columns.values() if row in column))


def ranking_notes(record: Record, benchmark: str, columns: Iterable[Mapping[str, Ranked]]) -> Iterator[str]:
    """Say what ranks mean, where there is none, which rows they flatter, and what was met in the texts."""
    data = record.data
    yield from NOTES
    if any(one.rank is None and one.competes for column in columns for one in column.values()):
        yield NO_RANK
    yield from trained_on.note([result for result in record.of(benchmark) if result.status == "ok"], ranking=True)
    yield from lossy([result for result in record.of(benchmark) if result.status == "ok"], data)
    yield from dict.fromkeys(note for label in data["corpora"] for note in texts.smoke_test(data, label))


def _cells(ranked: Ranked | None, metric: str) -> tuple[Cell, Cell]:
    """Value and rank."""
    return (Cell(), Cell()) if ranked is None else (value_cell(ranked, metric), Cell(ranked.rank, COUNT))


def value_cell(ranked: Ranked, metric: str) -> Cell:
    """Return the value of a row with its interval."""
    row, result = ranked.row, ranked.result
    of_all = [(result, one) for one in result.measurements if one.metric == metric and one.part is None]
    return cell(Column(metric, interval=True), Rows({row.label: {metric: of_all}}, row.record.data), row.label)


def ordered(columns: Sequence[Mapping[str, Ranked]]) -> list[str]:
    """Sort rows by the mean of the logarithms of their values relative to the best.

    What lacks texts comes behind, and last what does not compete on any.
    """
    labels = dict.fromkeys(label for column in columns for label in column)

    def place(label: str) -> tuple[int, float]:
        ratios = [_behind(column, label) for column in columns if label in column and column[label].competes]
        return -len(ratios), sum(ratios) / len(ratios) if ratios else 0.0

    return sorted(labels, key=place)


def _behind(column: Mapping[str, Ranked], label: str) -> float:
    """How far a row is behind the best, as a logarithm: at least 0."""
    best, mine = next(iter(column.values())).value, column[label].value
    return abs(math.log(mine / best)) if mine > 0 and best > 0 else math.inf
