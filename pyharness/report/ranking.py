"""Ranks: tokenizers by texts, sorted; a row is significantly worse than the best row of each better rank.

A rank begins at the first row from which on each row is significantly worse than the first row of every rank above. The
test covers all pairs of rows on a text at once (family-wise 95 %). Rows of one rank are not compared with each other:
``compare``, which judges two rows alone, may find a difference. Some rows have no rank: see ``_explain_unranked``.

Rows of several records are ranked together only if they read the very same text. The digest of the text decides, not
its name: one name may stand for two texts, and two names for one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from pyharness.benchmarks import benchmarks
from pyharness.benchmarks.notes import lossy
from pyharness.report import comparison
from pyharness.report.costs import best_noun, cost_cells, cost_note
from pyharness.report.differences import Difference
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.cases import parts_read, row_cell, smoke_test, trained_note, variant
from pyharness.report.sheet.columns import Rows, cell
from pyharness.report.sheet.strings import shorten_apart
from pyharness.statistics.family import Parts, agreed, needs_clarity, parts_of, told_apart
from pyharness.statistics.jackknife import GROUPS, MIN_GROUPS
from pyharness.store import Record
from pyharness.types import COUNT, CaseResult, Column, InputError, Measurement

T = TypeVar("T")

TEXTS = 3  # of one sheet: more do not fit a terminal of 80 columns
LONGEST_TEXT = 15  # characters of the name of a text
COUNTED = "tokens"  # the weight of groups of documents
NOTES = (
    "#: rank. Tied: no row is significantly worse than the best of the tie (tests over documents, family-wise 95 %).",
    "Sorted by the ratio to the best (geometric mean over texts).",
)
# Reasons why a competing row has no rank.
ALONE = "no other row to compare with"
TOO_FEW = "too few independent documents"
NOT_POSITIVE = "a value, or one without some documents, is not above 0"
NOT_COUNTED = "the record does not have its tokens by group of documents"
OTHER_TEXT = "other text, or other groups of documents, than most rows"


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of a ranking: a case of a record, under a name that no other row of the table has."""

    label: str
    record: Record
    result: CaseResult

    def value(self, metric: str) -> float | None:
        """Return the value of a metric of the whole case."""
        return next((one.value for one in self.result.measurements if (one.metric, one.part) == (metric, None)), None)

    def measured(self, metric: str) -> Measurement:
        """Return a metric of the whole case, which has a value."""
        return next(one for one in self.result.measurements if (one.metric, one.part) == (metric, None))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row in one column."""

    row: Contender
    value: float
    rank: int | None  # from 1; None if it cannot be judged, or does not compete
    unranked: str | None = None  # why a competing row cannot be judged

    @property
    def competes(self) -> bool:
        """Whether it is ranked with the others: if not, it is listed, and is neither first nor a reference."""
        return self.result.ranks

    @property
    def result(self) -> CaseResult:
        """The case of the value."""
        return self.row.result


Columns: TypeAlias = Mapping[str, Mapping[str, Ranked]]  # by text, then by row, the best first


def ranking_sheets(record: Record) -> list[Sheet]:
    """Return the sheets of each benchmark that ranks its rows: one per three texts; none without two rows on a text."""
    sheets: list[Sheet] = []
    for benchmark, metric in rankings(record):
        columns = ranked_texts(record, benchmark, metric)
        sheets += sheets_of(benchmark, metric, columns, ranking_notes(record, benchmark, columns.values()))
    return sheets


def rankings(record: Record) -> list[tuple[str, str]]:
    """Return benchmarks of a record that rank their rows, with the metric of the ranking."""
    ranked = [(name, about.ranks) for name in record.benchmarks if (about := benchmarks().get(name)) is not None]
    return [(name, metric) for name, metric in ranked if metric in record.data["metrics"]]


def ranked_texts(record: Record, benchmark: str, metric: str) -> dict[str, dict[str, Ranked]]:
    """Return ranks of rows on each text; a text's name includes the parameters in which its cases differ."""
    measured = [result for result in record.of(benchmark) if result.status == "ok"]
    by_text: dict[str, list[Contender]] = {}
    for result in measured:
        about = filter(None, (result.case.corpus, variant(result, measured)))
        by_text.setdefault(", ".join(about), []).append(Contender(result.case.tokenizer, record, result))
    return {text: ranked(rows, metric) for text, rows in by_text.items()}


def ranked(rows: Sequence[Contender], metric: str) -> dict[str, Ranked]:
    """Return ranks of rows on one text, by label, the best first; rows that do not compete come last, without a rank.

    Rows without a value are left out.

    Args:
        rows: of one benchmark, text and parameters, each with a label of its own; of one record, or of several that
            define the metric alike.
        metric: one that has a direction.
    """
    valued = [(row, value) for row in rows if (value := row.value(metric)) is not None]
    higher = bool(rows) and rows[0].record.data["metrics"][metric]["direction"] == "higher"
    ordered = sorted(valued, key=lambda one: (not one[0].result.ranks, -one[1] if higher else one[1]))
    competing = [row for row, _ in ordered if row.result.ranks]
    unranked = _find_unranked(competing, metric)
    judged = [row for row in competing if row.label not in unranked]
    places = ranks_of(judged, _test_apart(judged, metric)) if judged else []
    ranks = dict(zip((row.label for row in judged), places, strict=True))
    return {row.label: Ranked(row, value, ranks.get(row.label), unranked.get(row.label)) for row, value in ordered}


def ranks_of(rows: Sequence[T], apart: Callable[[T, T], bool]) -> list[int]:
    """Return ranks of sorted rows, the best row first.

    A rank begins where ``apart(first of a rank above, row)`` holds for each rank above and each row from there on: so
    all rows of a rank are worse than the first of each rank above.
    """
    ranks: list[int] = []
    tied = -1  # the last place tied with the first of a rank
    for place, row in enumerate(rows):
        if place <= tied:
            ranks.append(ranks[-1])
            continue
        ranks.append(place + 1)
        behind = range(len(rows) - 1, place, -1)
        tied = next((other for other in behind if not apart(row, rows[other])), place)
    return ranks


def _find_unranked(rows: Sequence[Contender], metric: str) -> dict[str, str]:
    """Return the reasons why rows cannot be judged, by label."""
    results = {row.label: row.result for row in rows}
    texts = {label: (one.tally and one.tally.digest, one.groups.get("documents", ())) for label, one in results.items()}
    counted = Counter(texts[row.label] for row in rows if _lack(row, metric) is None)
    most = counted.most_common(1)[0][0] if counted else None
    why = {
        row.label: lack
        for row in rows
        if (lack := _lack(row, metric) or (OTHER_TEXT if texts[row.label] != most else None)) is not None
    }
    left = [row.label for row in rows if row.label not in why]
    return why | dict.fromkeys(left if len(left) == 1 else (), ALONE)


def _lack(row: Contender, metric: str) -> str | None:
    """Return what a row lacks for a judgement against others."""
    measured, counts = row.measured(metric), row.result.groups.get(COUNTED, ())
    if len(measured.replicates) != GROUPS or measured.replicates.count(None) > GROUPS - MIN_GROUPS:
        return TOO_FEW
    if len(counts) != GROUPS or sum(counts) <= 0:
        return NOT_COUNTED
    values = [one for one in (measured.value, *measured.replicates) if one is not None]
    return None if min(values) > 0 else NOT_POSITIVE


def parts_on_text(rows: Sequence[Contender], metric: str) -> Parts:
    """Return ``parts_of`` rows on one text, of which each can be judged."""
    return parts_of([row.measured(metric) for row in rows], [row.result.groups[COUNTED] for row in rows])


def text_needs_clarity(row: Contender) -> bool:
    """Return whether differences must be ``family.clear``, by the sizes of documents; False if sizes are unknown."""
    documents, sizes = (row.result.groups.get(name, ()) for name in ("documents", "bytes"))
    return len(documents) == len(sizes) == GROUPS and needs_clarity(documents, sizes)


def _test_apart(rows: Sequence[Contender], metric: str) -> Callable[[Contender, Contender], bool]:
    """Return a function: whether a row is worse than another, by all pairs at once, and by ``compare`` on these two.

    If ``compare`` has no interval, groups of documents have to agree instead (``family.agreed``). If documents are of
    very unequal size, each difference has to be ``family.clear``, too.
    """
    places = {row.label: place for place, row in enumerate(rows)}
    parts = parts_on_text(rows, metric)
    told, agree = told_apart(parts, text_needs_clarity(rows[0])), agreed(parts)

    def apart(better: Contender, row: Contender) -> bool:
        pair = places[better.label], places[row.label]
        if not told[pair] or (compared := difference(better, row, metric)) is None:
            return False
        return bool(agree[pair]) if compared.interval is None else compared.verdict == "worse"

    return apart


def difference(one: Contender, other: Contender, metric: str) -> Difference | None:
    """Compare two rows on one text; return None if they did not read the same, or lack the metric."""
    pair = comparison.Pair(one.record, one.result, other.record, other.result)
    try:
        numbers = comparison.differences([pair], metric)
    except InputError:  # another text, or other groups
        return None
    return numbers[0] if numbers else None


def sheets_of(benchmark: str, metric: str, columns: Columns, notes: Iterable[str]) -> list[Sheet]:
    """Return sheets of ranked columns, by the name of their text; none if no column has two rows."""
    if not any(len(column) > 1 for column in columns.values()):
        return []
    rows, told = ordered(list(columns.values())), (cost_note(benchmark, metric), *notes)
    parts = [dict(list(columns.items())[start : start + TEXTS]) for start in range(0, len(columns), TEXTS)]
    title, costs = f"Ranking: {best_noun(benchmark, metric)}", costs_of(columns, metric)
    return [
        cost_sheet(
            title, metric, rows, some, costs, told if some is parts[-1] else (), shorten_apart(some, LONGEST_TEXT)
        )
        for some in parts
    ]


def cost_sheet(
    title: str, metric: str, rows: Sequence[str], columns: Columns, costs: Mapping[str, Mapping[str, Cell]],
    notes: tuple[str, ...], short: Mapping[str, str] | None = None,
) -> Sheet:  # fmt: skip
    """Return what each row costs on each text, by ``costs_of``, with its rank; ``short``: texts in headings."""
    data = next(one for column in columns.values() for one in column.values()).row.record.data
    headings = [Heading(data["suite"].get("rows", "tokenizer"), "name")]
    for text in columns:
        headings += [Heading((short or {}).get(text, text), "number", "beyond the best", "lower", metric), Heading("#")]
    cells = [
        (
            name_cell(columns, row),
            *(one for text in columns for one in (costs[text].get(row, Cell()), rank_cell(columns[text].get(row)))),
        )
        for row in rows
    ]
    return Sheet(title, tuple(headings), tuple(cells), notes)


def costs_of(columns: Columns, metric: str) -> dict[str, dict[str, Cell]]:
    """Return costs by text and row, with bars relative to the longest of all."""
    costs = {text: ranked_costs(column, metric) for text, column in columns.items()}
    longest = max((cell.bar or 0 for of_rows in costs.values() for cell in of_rows.values()), default=0) or 1.0
    return {
        text: {row: replace(cell, bar=(cell.bar or 0) / longest) for row, cell in of_rows.items()}
        for text, of_rows in costs.items()
    }


def ranked_costs(column: Mapping[str, Ranked], metric: str) -> dict[str, Cell]:
    """Return costs of rows on one text, the best first."""
    data = next((one.row.record.data for one in column.values()), None)
    values = {label: one.value for label, one in column.items()}
    return cost_cells(values, higher=data is not None and data["metrics"][metric]["direction"] == "higher")


def name_cell(columns: Columns, row: str) -> Cell:
    """Return the name of a row, marked if it was trained on a text."""
    return row_cell(row, (column[row].result for column in columns.values() if row in column))


def ranking_notes(record: Record, benchmark: str, columns: Iterable[Mapping[str, Ranked]]) -> Iterator[str]:
    """Explain ranks, missing ranks, rows that ranks flatter, and texts that are too small to be evidence."""
    data = record.data
    yield from NOTES
    named: dict[str, dict[str, None]] = {}  # rows by the reason why they have no rank, if others of their text have one
    for column in columns:
        some = any(one.rank is not None for one in column.values())
        for label, one in column.items():
            if one.unranked is not None:
                named.setdefault(one.unranked, {}).update({label: None} if some else {})
    yield from (f"No rank: {reason}" + f" ({', '.join(rows)})" * bool(rows) + "." for reason, rows in named.items())
    yield from trained_note([result for result in record.of(benchmark) if result.status == "ok"], ranking=True)
    yield from lossy([result for result in record.of(benchmark) if result.status == "ok"], data)
    yield from dict.fromkeys(note for label in data["corpora"] for note in smoke_test(data, label))
    yield from parts_read(data, data["corpora"])


def rank_cell(ranked: Ranked | None) -> Cell:
    """Return the rank of a row, or why it has none."""
    return Cell() if ranked is None else Cell(ranked.rank, COUNT, reason=ranked.unranked)


def value_cell(ranked: Ranked, metric: str) -> Cell:
    """Return the value of a row with its interval."""
    row, result = ranked.row, ranked.result
    of_all = [(result, one) for one in result.measurements if one.metric == metric and one.part is None]
    return cell(Column(metric, interval=True), Rows({row.label: {metric: of_all}}, row.record.data), row.label)


def ordered(columns: Sequence[Mapping[str, Ranked]]) -> list[str]:
    """Sort rows by the mean of the logarithms of their values relative to the best.

    Rows that lack texts come behind, and last the rows that do not compete on any text.
    """
    labels = dict.fromkeys(label for column in columns for label in column)

    def place(label: str) -> tuple[int, float]:
        ratios = [_behind(column, label) for column in columns if label in column and column[label].competes]
        return -len(ratios), sum(ratios) / len(ratios) if ratios else 0.0

    return sorted(labels, key=place)


def _behind(column: Mapping[str, Ranked], label: str) -> float:
    """Return how far a row is behind the best, as a logarithm: at least 0; infinity if a value is not above 0."""
    best, mine = next(iter(column.values())).value, column[label].value
    return abs(math.log(mine / best)) if mine > 0 and best > 0 else math.inf


# ---------------------------------------------------------------------------------------------- of several records


_Text: TypeAlias = tuple[str, str, str]  # digest, parameters, and the record's definition of the metric


def ranking_of_records(records: Mapping[str, Record]) -> list[Sheet]:
    """Return sheets like those of one record, of the texts that rows of two and more records have read.

    Args:
        records: by name; a row is called ROW (NAME), and all rows differ.
    """
    labels: dict[tuple[str, str], str] = {}  # by the name of the record, and the row
    for name, record in records.items():
        for result in record.results:
            if (row := (name, result.case.tokenizer)) not in labels:
                labels[row] = _unlike(f"{result.case.tokenizer} ({name})", labels.values())
    names = sorted({name for record in records.values() for name in record.benchmarks})
    named = [(name, benchmarks()[name].ranks) for name in names if name in benchmarks() and benchmarks()[name].ranks]
    return [sheet for name, metric in named for sheet in _of_benchmark(records, labels, name, metric)]


def _of_benchmark(
    records: Mapping[str, Record], labels: Mapping[tuple[str, str], str], benchmark: str, metric: str
) -> list[Sheet]:
    measured = {name: list(_rankable_results(record, benchmark, metric)) for name, record in records.items()}
    by_text: dict[_Text, dict[tuple[str, str], CaseResult]] = {}  # by the name of the record, and the row
    for name, results in measured.items():
        for one in results:
            by_text.setdefault(_text(records[name], one, metric), {}).setdefault((name, one.case.tokenizer), one)
    everything = [result for results in measured.values() for result in results]
    columns: dict[str, dict[str, Ranked]] = {}
    for (digest, *_), read in by_text.items():
        if len({name for name, _ in read}) > 1:
            result = next(iter(read.values()))
            title = ", ".join(filter(None, (result.case.corpus, variant(result, everything))))
            rows = [Contender(labels[name, row], records[name], result) for (name, row), result in read.items()]
            columns[_unlike(title, columns, digest[:8])] = ranked(rows, metric)
    return sheets_of(benchmark, metric, columns, _notes(records, benchmark, columns))


def _rankable_results(record: Record, benchmark: str, metric: str) -> Iterator[CaseResult]:
    """Yield results that can be ranked with those of other records: results that say which text they read."""
    if metric in record.data["metrics"]:
        yield from (one for one in record.of(benchmark) if one.status == "ok" and one.tally is not None)


def _text(record: Record, result: CaseResult, metric: str) -> _Text:
    about = record.data["metrics"][metric]
    parameters = json.dumps(dict(result.case.parameters), sort_keys=True)
    return result.tally.digest if result.tally else "", parameters, f"{about['unit']} {about['direction']}"


def _unlike(title: str, known: Iterable[str], told_by: str = "") -> str:
    """Return a title that is not known yet: unchanged, with the difference, or with a number."""
    taken = set(known)
    shapes = (title, f"{title} ({told_by})" if told_by else title)
    numbered = (f"{title} ({number})" for number in range(2, len(taken) + 3))
    return next(one for one in (*shapes, *numbered) if one not in taken)


def _notes(records: Mapping[str, Record], benchmark: str, columns: Columns) -> Iterator[str]:
    """Yield notes of each record, under its name if other records' notes differ."""
    told = {name: list(ranking_notes(one, benchmark, columns.values())) for name, one in records.items()}
    of_all = [note for note in next(iter(told.values()), []) if all(note in notes for notes in told.values())]
    yield from of_all
    yield from (f"{name}: {note}" for name, notes in told.items() for note in notes if note not in of_all)
