"""A record as sheets: its benchmarks' declared tables and listings, and a row for each number.

This code knows no benchmark or metric by name. There is a table per text, unless it is declared for all texts, and per
value of the parameters in which its cases differ. A row is a tokenizer. A column finds its numbers among the results of
the table's benchmark or, for a metric that this benchmark does not report, among all results of the row on the same
text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from pyharness.benchmarks import benchmarks
from pyharness.plugins import registry
from pyharness.report.ranking import ranking_sheets
from pyharness.report.sheet import Cell, Heading, Legend, Sheet, cases, columns, text_row
from pyharness.report.sheet.cases import differing_parameters, not_measured, row_cell
from pyharness.report.sheet.strings import shorten, writable
from pyharness.report.summary import summary_sheets
from pyharness.statistics.samples import interval_of, lack_of
from pyharness.store import Record, case_record_kind
from pyharness.types import CaseResult, Column, Fact, Listing, Measurement, Plot, Table, counted

# ------------------------------------------------------------------------- listings of benchmarks, such as dead tokens


FIRST_LISTED = 10  # entries of a row that are shown by default
LONGEST_ENTRY = 200  # characters of a part of an entry: a token may be long, and fall apart into many others


def listing_sheets(record: Record, all_entries: bool = False) -> Iterator[Sheet]:
    """Yield one sheet for each benchmark with a listing: the first entries of each row, or all in the record."""
    for name in record.benchmarks:
        benchmark = benchmarks().get(name)
        if benchmark is not None and (listing := benchmark.listing) is not None:
            results = [result for result in record.of(name) if result.status == "ok"]
            if results:
                yield _listing_sheet(listing, results, all_entries)


def _listing_sheet(listing: Listing, results: list[CaseResult], all_entries: bool) -> Sheet:
    named: dict[str, dict[tuple[str, ...], None]] = {}  # by row, once for all its texts
    notes: list[str] = []
    legend: dict[str, None] = {}
    for result in results:
        label = result.case.tokenizer
        try:
            entries = [tuple(shorten(str(text), LONGEST_ENTRY) for text in entry) for entry in listing.entries(result)]
            legend |= dict.fromkeys(map(str, listing.legend(result)))
        except Exception as error:  # details of an edited record, or a plug-in's function
            notes.append(f"{label}: what it names cannot be read ({type(error).__name__}: {str(error)[:200]}).")
            continue
        named[label] = named.get(label, {}) | dict.fromkeys(entries)
    rows: list[tuple[Cell, ...]] = []
    for label, of_row in named.items():
        shown = list(of_row) if all_entries else list(of_row)[:FIRST_LISTED]
        rows += [text_row(label, *entry) for entry in shown]
        if len(shown) < len(of_row):
            notes.append(f"{label}: {len(of_row) - len(shown):,} more; pyharness report --list-dead lists all.")
    headings = (Heading("tokenizer", "name", whole=True), *(Heading(title, "prose") for title in listing.headings))
    return Sheet(listing.title, headings, tuple(rows), (*legend, *dict.fromkeys(notes)))


Used: TypeAlias = tuple[CaseResult, Sequence[Measurement]]


def sheets(record: Record, every: bool = False, all_entries: bool = False) -> list[Sheet]:
    """Return every table for which the record has results, the summary and the rankings first.

    ``every``: with all metrics, not only the declared columns and primary metrics; ``all_entries``: with all entries of
    listings. For a record that no run wrote, return the tables of its kind.
    """
    if (kind := case_record_kind(record.data["kind"])) is not None:
        return list(kind.sheets(record))
    last = (*listing_sheets(record, all_entries), not_measured(record.results))
    return [
        *summary_sheets(record),
        *ranking_sheets(record),
        *measured_sheets(record, every),
        *(sheet for sheet in last if sheet.rows),
    ]


def measured_sheets(record: Record, every: bool = False) -> list[Sheet]:
    """Return the tables that benchmarks declare: all but summary, rankings, listings and cases without numbers.

    ``every``: with all metrics. For a record that no run wrote, return the tables of its kind.
    """
    if (kind := case_record_kind(record.data["kind"])) is not None:
        return list(kind.sheets(record))
    finished = _group_finished(record)
    filled: list[Sheet] = []
    for name in _order(record):
        declared = benchmarks()[name].tables if name in benchmarks() else ()
        first, *others = declared or (Table(name.replace("_", " ").capitalize()),)
        own, reported = _reported_results(record, name)
        for table in (columns.with_undeclared(first, own, every), *others):
            filled += Filling(record.data, table, own, reported, finished).sheets()
    return [sheet for sheet in filled if sheet.rows]


def plotted(record: Record) -> Iterator[tuple[str, Plot, list[Sheet]]]:
    """Yield every drawing of a benchmark, with the benchmark's name, and its tables that have rows."""
    finished = _group_finished(record)
    for name in _order(record):
        own, reported = _reported_results(record, name)
        for plot in benchmarks()[name].plots if name in benchmarks() and own else ():
            filled = Filling(record.data, replace(plot.table, sized=False), own, reported, finished).sheets()
            yield name, plot, [sheet for sheet in filled if sheet.rows]


def _group_finished(record: Record) -> dict[str | None, list[CaseResult]]:
    """Return results with numbers, by text."""
    finished: dict[str | None, list[CaseResult]] = {}
    for result in record.results:
        if result.status == "ok":
            finished.setdefault(result.case.corpus, []).append(result)
    return finished


def _reported_results(record: Record, name: str) -> tuple[list[CaseResult], set[str]]:
    """Return results of a benchmark that have numbers, and the metrics that it reports or declares."""
    own = [result for result in record.of(name) if result.status == "ok"]
    reported = {measurement.metric for result in own for measurement in result.measurements}
    return own, reported | set(benchmarks()[name].metric_names if name in benchmarks() else ())


def _order(record: Record) -> list[str]:
    """Return benchmarks in the suite's order, then others; timed ones come last."""
    listed, by_name = record.data["suite"].get("benchmarks"), benchmarks()
    chosen = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    # A table may have no case of its own, but numbers of other benchmarks: those that offer one are few, and loaded.
    others = registry.offered(__name__, "BENCHMARKS")
    names = [*(name for name in chosen if isinstance(name, str)), *record.benchmarks, *others]
    return sorted(dict.fromkeys(names), key=lambda name: name in by_name and by_name[name].timed)


@dataclass(frozen=True, slots=True)
class Filling:
    """One declared table and the results that fill it."""

    data: Mapping[str, Any]  # of the record
    table: Table
    own: Sequence[CaseResult]  # of the benchmark that declares the table
    reported: set[str]  # metrics that this benchmark reports or declares
    finished: Mapping[str | None, Sequence[CaseResult]]  # all results, by text

    def sheets(self) -> Iterator[Sheet]:
        """Yield one sheet per text and variant."""
        for label in self._labels():
            own = [one for one in self.own if self.table.all_texts or one.case.corpus in (label, None)]
            for variant, chosen in self._variants(own):
                yield self._sheet(label, variant, chosen)

    def _labels(self) -> list[str | None]:
        if self.table.all_texts:
            return [None]
        foreign = {column.metric for column in self.table.columns if isinstance(column, Column)} - self.reported
        labels = dict.fromkeys(result.case.corpus for result in self.own)
        for label, results in self.finished.items():
            if any(measurement.metric in foreign for result in results for measurement in result.measurements):
                labels.setdefault(label)
        return [label for label in labels if label is not None] or [None]

    def _variants(self, own: Sequence[CaseResult]) -> Iterator[tuple[str, Sequence[CaseResult]]]:
        """Yield results by the parameters that distinguish their cases, with these in words."""
        per, joined = self.table.per, self.table.joined
        names = [*per, *(name for name in differing_parameters(own, own) if name not in (*per, *joined))]
        groups: dict[str, list[CaseResult]] = {} if own else {"": []}
        for result in own:
            parameters = {name: result.case.parameters.get(name) for name in names}
            groups.setdefault(json.dumps(parameters, sort_keys=True, default=str), []).append(result)
        for results in sorted(groups.values(), key=self._rank):
            shown: Mapping[str, Any] = results[0].case.parameters if results else {}
            yield ", ".join(_parameter_name(name, shown[name], name in per) for name in names if name in shown), results

    def _rank(self, results: Sequence[CaseResult]) -> list[int]:
        values = [results[0].case.parameters.get(name) for name in self.table.per] if results else []
        return [value if isinstance(value, int) else 0 for value in values]

    def _sheet(self, label: str | None, variant: str, own: Sequence[CaseResult]) -> Sheet:
        used = self._list_used(label, own)
        measured = columns.Rows(_by_row(used), self.data)
        rows = [row for row in used if self._belongs(measured, row, label, used[row])]
        if not rows:
            return Sheet(self.table.title, (), ())  # what its columns mean is not looked up
        shown = columns.expanded(self.table.columns, measured, rows)
        cells = [
            (
                row_cell(row, (result for result, _ in used[row])),
                *(columns.cell(column, measured, row) for column in shown),
            )
            for row in rows
        ]
        headings = (
            Heading(self.data["suite"].get("rows", "tokenizer"), "name"),
            *(columns.heading(column, measured, rows) for column in shown),
        )
        results = [result for row in rows for result, _ in used[row]]
        notes = [*self._notes(label, results), *self._interval_notes(label, shown, measured, rows)]
        published = self.table.published
        if published is not None and any(measured.has(row, metric) for row in rows for metric in published.metrics):
            cells += columns.published_rows(published, shown)
            notes.append(published.source)
        return Sheet(self._title(label, variant, results), headings, tuple(cells), tuple(dict.fromkeys(notes)))

    def _interval_notes(
        self, label: str | None, shown: Sequence[Column | Fact], known: columns.Rows, rows: Sequence[str]
    ) -> Iterator[str]:
        for note in columns.interval_notes(shown, known, rows):
            yield note
            if label is not None and note.startswith("No CI:") and "document" in note and "%" not in note:
                yield from cases.more_documents(self.data, label)

    def _list_used(self, label: str | None, own: Sequence[CaseResult]) -> dict[str, list[Used]]:
        """Return results of every row, each with the measurements that the table reads from it.

        These are all of its own benchmark's, and of other benchmarks' those of metrics that its own does not report.
        """
        metrics = {column.metric for column in self.table.columns if isinstance(column, Column)}
        published = () if self.table.published is None else self.table.published.metrics
        wanted = {*metrics, *self.table.needs, *published} - self.reported
        used: dict[str, list[Used]] = {}
        for result in own:
            used.setdefault(result.case.tokenizer, []).append((result, result.measurements))
        read = self.finished if self.table.all_texts else (label, None) if label is not None else (None,)
        for result in chain.from_iterable(self.finished.get(text, ()) for text in read if wanted):
            if measurements := tuple(one for one in result.measurements if one.metric in wanted):
                used.setdefault(result.case.tokenizer, []).append((result, measurements))
        return used

    def _belongs(self, known: columns.Rows, row: str, label: str | None, used: Sequence[Used]) -> bool:
        """Return whether a row is in the table: it has results on the text, and the required numbers."""
        about_text = label is None or any(result.case.corpus == label for result, _ in used)
        own = {result.case.benchmark for result in self.own}
        measured = any(result.case.benchmark in own for result, _ in used) or any(
            known.has(row, column.metric) for column in self.table.columns if isinstance(column, Column)
        )
        return about_text and measured and all(known.has(row, metric) for metric in self.table.needs)

    def _notes(self, label: str | None, results: Sequence[CaseResult]) -> Iterator[str]:
        if not results:
            return
        yield from cases.trained_note(results)
        yield from cases.parts_read(self.data, self.data["corpora"] if label is None else (label,))
        if label is not None and self.table.sized:
            yield from cases.text_notes(self.data, label)
        for note in self.table.notes:
            try:
                yield from [Legend(note)] if isinstance(note, str) else [str(line) for line in note(results, self.data)]
            except Exception as error:  # of a plug-in's function
                yield f"A note is missing: {type(error).__name__}: {str(error)[:200]}"

    def _title(self, label: str | None, variant: str, results: Sequence[CaseResult]) -> str:
        title = self.table.title
        if label is not None:
            describe = self.table.text
            text = cases.text_in_words(results, self.data, label) if self.table.sized else label
            text = describe(results, self.data) if describe is not None and results else text
            title = f"{self.table.title_with_text or title}: {text}"
        return ", ".join(filter(None, (title, variant)))


def _by_row(used: Mapping[str, Sequence[Used]]) -> dict[str, dict[str, list[columns.Measured]]]:
    measured: dict[str, dict[str, list[columns.Measured]]] = {}
    for row, results in used.items():
        by_metric = measured.setdefault(row, {})
        for result, measurements in results:
            for one in measurements:
                by_metric.setdefault(one.metric, []).append((result, one))
    return measured


def _parameter_name(name: str, value: object, is_count: bool) -> str:
    """Name a parameter in a title: ``2 threads``, or ``context=512``."""
    if not is_count:
        return f"{name}={value}"
    return counted(value, name.removesuffix("s")) if isinstance(value, int) else f"{value} {name}"


# --------------------------------------------------------------------------------- a row for each number, for programs


FLAT_COLUMNS = (
    "benchmark", "tokenizer", "corpus", "parameters", "metric", "part", "value", "low", "high", "unit", "direction",
    "status", "reason", "trained_on",
)  # fmt: skip
_NUMBERS = {"value", "low", "high", "trained_on"}


def flat_sheet(record: Record) -> Sheet:
    """Return one row per measurement, and one per case without any, so that nothing is silently dropped."""
    headings = tuple(Heading(column, "number" if column in _NUMBERS else "word") for column in FLAT_COLUMNS)
    return Sheet(
        "rows", headings, tuple(tuple(Cell(row[column]) for column in FLAT_COLUMNS) for row in flat_rows(record))
    )


def flat_rows(record: Record) -> list[dict[str, Any]]:
    """Return the rows of ``flat_sheet`` as dictionaries."""
    listed: list[dict[str, Any]] = []
    for result in record.results:
        case = result.case
        common = {
            "benchmark": case.benchmark,
            "tokenizer": case.tokenizer,
            "corpus": case.corpus,
            "parameters": json.dumps(dict(case.parameters), sort_keys=True),
            "status": result.status,
            "trained_on": result.trained_on,
        }
        for measurement in result.measurements:
            about = record.data["metrics"].get(measurement.metric, {})
            low, high = interval_of(measurement) or (None, None)
            listed.append(
                dict.fromkeys(FLAT_COLUMNS)
                | common
                | {"metric": measurement.metric, "part": measurement.part, "value": measurement.value}
                | {"low": low, "high": high, "reason": lack_of(measurement)}
                | {"unit": about.get("unit"), "direction": about.get("direction")}
            )
        if not result.measurements:
            listed.append(dict.fromkeys(FLAT_COLUMNS) | common | {"reason": result.reason})
    return [{column: writable(value) for column, value in row.items()} for row in listed]
