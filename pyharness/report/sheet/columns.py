"""Columns that a benchmark declares, as headings and cells of the rows of one sheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from pyharness.metrics import all_metrics
from pyharness.report.sheet import Cell, Heading, Legend
from pyharness.statistics.samples import interval_of, lack_of, noise
from pyharness.types import COUNT, PLAIN, CaseResult, Column, Fact, Format, Measurement, Published, Table, counted

Measured: TypeAlias = tuple[CaseResult, Measurement]
MOST_PARTS = 8  # columns of one undeclared metric; of more parts, only the least and the most are shown


@dataclass(frozen=True, slots=True)
class Rows:
    """Data of the rows of one sheet: measurements by tokenizer and metric, and the record's data."""

    measured: Mapping[str, Mapping[str, Sequence[Measured]]]
    data: Mapping[str, Any]

    def of(self, row: str, column: Column) -> list[Measured]:
        """Return the measurements from which a cell is picked."""
        return [
            (result, one)
            for result, one in self.measured.get(row, {}).get(column.metric, ())
            if column.part in (None, one.part) and one.part not in column.without
        ]

    def has(self, row: str, metric: str) -> bool:
        """Return whether a row has a number of a metric."""
        return any(one.value is not None for _, one in self.measured.get(row, {}).get(metric, ()))

    def parts(self, rows: Iterable[str], metrics: Iterable[str]) -> list[str]:
        """Return the measured parts of metrics, in the order of the rows."""
        measured = [self.measured.get(row, {}).get(metric, ()) for row in rows for metric in metrics]
        return list(dict.fromkeys(one.part for pairs in measured for _, one in pairs if one.part is not None))

    def fact(self, row: str, fact: Fact) -> float | int | str | None:
        """Return the record's fact about a tokenizer; None if it is lacking, 0 (unknown), or edited by hand."""
        about = self.data["tokenizers"].get(row)
        value = about.get(fact.name) if isinstance(about, dict) else None
        return (value or None) if isinstance(value, int | float | str) else None


# ------------------------------------------------------------------------------------------ choice of columns


def with_undeclared(table: Table, own: Sequence[CaseResult], every: bool) -> Table:
    """Add columns for metrics that the table does not declare: primary ones, or every one.

    A table without any column gets those of its primary metrics, or all if there are no primary ones.
    """
    parts: dict[str, dict[str | None, None]] = {}
    for one in (measurement for result in own for measurement in result.measurements):
        parts.setdefault(one.metric, {})[one.part] = None
    metrics = all_metrics()
    primary = [name for name in parts if name in metrics and metrics[name].primary]
    declared = {column.metric for column in table.columns if isinstance(column, Column)}
    wanted = list(parts) if every or not (primary or table.columns) else primary
    added = [column for name in wanted if name not in declared for column in _columns_of(name, list(parts[name]))]
    return replace(table, columns=(*table.columns, *added))


def _columns_of(metric: str, parts: Sequence[str | None]) -> Iterator[Column]:
    words = metric.replace("_", " ")
    if parts == [None]:
        yield Column(metric, words, interval=True)
    elif len(parts) <= MOST_PARTS:
        yield Column(metric, f"{words} {{part}}", each=True, interval=True)
    else:
        yield Column(metric, f"{words}, least", pick="least", shows="value and part")
        yield Column(metric, f"{words}, most", pick="most", shows="value and part")


def expanded(columns: Sequence[Column | Fact], known: Rows, rows: Sequence[str]) -> list[Column | Fact]:
    """Repeat columns for their parts, and drop optional ones that are empty or 0 in every row."""
    listed: list[Column | Fact] = []
    for repeated, group in groupby(columns, key=lambda one: isinstance(one, Column) and one.each):
        neighbours = list(group)
        listed += _repeat(neighbours, known, rows) if repeated else neighbours
    return [
        column
        for column in listed
        if isinstance(column, Fact) or not column.optional or any(cell(column, known, row).value for row in rows)
    ]


def _repeat(columns: Sequence[Column | Fact], known: Rows, rows: Sequence[str]) -> Iterator[Column]:
    repeated = [column for column in columns if isinstance(column, Column)]
    for part in known.parts(rows, [column.metric for column in repeated]):
        for column in repeated:
            yield replace(column, part=part, title=column.title.replace("{part}", part))


# ---------------------------------------------------------------------------------------- contents of columns


def heading(column: Column | Fact, known: Rows, rows: Sequence[str]) -> Heading:
    """Return the head of a column, with its meaning from the record or the installed metric."""
    if isinstance(column, Fact):
        words = any(isinstance(known.fact(row, column), str) for row in rows)
        return Heading(column.title, "word" if words else "number")
    metric = all_metrics().get(column.metric)
    about = known.data["metrics"].get(column.metric) or {}
    direction = about.get("direction", metric.direction if metric else "none")
    unit = about.get("unit", metric.unit if metric else "")
    if column.shows == "spread":
        unit, direction = "of the mean", "lower"
    title = column.title or column.metric.replace("_", " ")
    return Heading(title, "number", unit, direction, column.metric, repeated=column.each)


def cell(column: Column | Fact, known: Rows, row: str) -> Cell:
    """Return the cell of a row in a column; empty without measurements, and with the reason without a value."""
    if isinstance(column, Fact):
        return Cell(known.fact(row, column), column.format)
    measured = known.of(row, column)
    if not measured:
        return Cell()
    result, one = _pick(column, measured)
    reason, n = lack_of(one), amount(result, one)
    shown = Cell(one.value, _format(column, one.value), case=result.case.key, n=n, reason=reason, samples=one.samples)
    if one.value is None:
        return shown
    added = sum(each.value is not None for _, each in measured)
    if column.pick == "sum" and added > 1:
        shown = replace(shown, case=None, n=f"{added:,} numbers, added up")
    if column.shows == "part":
        return replace(shown, value=one.part)
    if column.shows == "spread":
        return replace(shown, value=noise(one.samples), samples=())
    if column.shows == "value and part":
        shown = replace(shown, part=one.part)
    return replace(shown, interval=interval_of(one), bounds=bool(one.samples)) if column.interval else shown


def amount(result: CaseResult, one: Measurement) -> str | None:
    """Return the size of a number's sample: repetitions, or documents of the text; None if the record does not tell."""
    if one.samples:
        return counted(len(one.samples), "repetition")
    return None if result.tally is None else documents_in_words(result.tally.documents, result.groups, "document")


def documents_in_words(count: int, groups: Mapping[str, Sequence[int]], unknown: str) -> str:
    """Say how many documents were read, and in how many pieces if some were cut; ``unknown``: if the groups lack it."""
    if not {"pieces", "documents"} <= groups.keys():
        return counted(count, unknown)
    uncut = sum(groups["documents"])
    return counted(uncut, "document") + (f" in {counted(count, 'piece')}" if uncut != count else "")


def _pick(column: Column, measured: Sequence[Measured]) -> Measured:
    valued = [(result, one) for result, one in measured if one.value is not None]
    if not valued or column.pick == "first":
        return (valued or measured)[0]
    if column.pick == "sum":
        result, one = valued[0]
        return result, Measurement(one.metric, sum(each.value or 0 for _, each in valued), part=one.part)
    ordered = sorted(valued, key=lambda pair: (pair[1].value or 0, str(pair[1].part)))
    return ordered[{"least": 0, "median": len(ordered) // 2, "most": -1}[column.pick]]


def _format(column: Column | Fact, value: float | int | None = None) -> Format:
    metric = None if isinstance(column, Fact) else all_metrics().get(column.metric)
    form = column.format or (metric.format if metric else PLAIN)
    return COUNT if form is PLAIN and isinstance(value, int) else form


def published_rows(published: Published, columns: Sequence[Column | Fact]) -> Iterator[tuple[Cell, ...]]:
    """Yield rows of a paper, each figure with its printed digits."""
    for name, figures in published.rows:
        yield Cell(name), *(_figure(column, figures) for column in columns)


def _figure(column: Column | Fact, figures: Mapping[str, str]) -> Cell:
    printed = figures.get(column.metric) if isinstance(column, Column) else None
    if printed is None:
        return Cell()
    form = _format(column)
    digits = len(printed.partition(".")[2])
    return Cell(float(printed) / form.scale, replace(form, pattern=re.sub(r"\.\d+f", f".{digits}f", form.pattern)))


MOST_NAMED = 2  # rows of a note
_FIGURES = re.compile(r"[\d.,]+")


def interval_notes(columns: Sequence[Column | Fact], known: Rows, rows: Sequence[str]) -> Iterator[str]:
    """Explain the intervals, and the values without one, once for all rows."""
    with_intervals = [column for column in columns if isinstance(column, Column) and column.interval]
    of_rows = [(row, one) for column in with_intervals for row in rows for _, one in known.of(row, column)[:1]]
    if any(one.replicates and interval_of(one) for _, one in of_rows):
        yield Legend("±: half-width of the 95 % confidence interval (CI) over documents.")
    if any(one.paired for _, one in of_rows):
        yield Legend("x [low, high]: ratio to the reference row in the same round, with its 95 % CI.")
    if any(one.samples and not one.paired and interval_of(one) for _, one in of_rows):
        yield Legend("[low, high]: 95 % CI of the median of the repetitions.")
    lacks: dict[str, dict[str, str]] = {}  # reasons by row, by their text without the figures
    for row, one in of_rows:
        if one.value is not None and (reason := lack_of(one)):
            lacks.setdefault(_FIGURES.sub("", reason), {})[row] = reason
    for reasons in lacks.values():
        value = "" if len(with_intervals) > 1 else f" of {with_intervals[0].title or with_intervals[0].metric}"
        for whose, reason in _owners(reasons, len(rows)):
            yield f"No CI{value if whose else ''}{whose}: {reason}."


def _owners(reasons: Mapping[str, str], rows: int) -> Iterator[tuple[str, str]]:
    """Yield whose a reason is, "" for all rows, and the reason. A few rows with figures of their own get one each."""
    (first, reason), *others = reasons.items()
    if all(other == reason for _, other in others):
        names = ", ".join(list(reasons)[:MOST_NAMED]) + " and others" * (len(reasons) > MOST_NAMED)
        yield "" if len(reasons) == rows else f" for {names}", reason
    elif len(reasons) <= MOST_NAMED:
        yield from ((f" for {row}", its_own) for row, its_own in reasons.items())
    else:
        yield f" for {len(reasons)} rows, such as {first}", reason
