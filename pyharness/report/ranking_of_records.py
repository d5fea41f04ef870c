"""Rows of several records, ranked with each other where they read the very same text, and nowhere else.

What makes two texts one is the digest of what was read, not its name: one name may stand for two texts, and two names
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pyharness.benchmarks import benchmarks
from pyharness.report.ranking import Ranked, Row, ranked, ranking_notes, sheets_of
from pyharness.report.rows.variants import variant
from pyharness.report.sheet import Sheet
from pyharness.store import Record
from pyharness.types import CaseResult

_Text: TypeAlias = tuple[str, str, str]  # digest, parameters, and what the record says of the metric


def ranking_of_records(records: Mapping[str, Record]) -> list[Sheet]:
    """Sheets like those of one record, of the texts that rows of two and more records have read.

    Args:
        records: by a name; a row is called ROW (NAME), and no two rows alike.
    """
    labels = _labels(records)
    named = [(one.name, one.ranks) for one in benchmarks().values() if one.ranks]
    return [sheet for name, metric in named for sheet in _of_benchmark(records, labels, name, metric)]


def _labels(records: Mapping[str, Record]) -> dict[tuple[str, str], str]:
    """What each row of each record is called."""
    labels: dict[tuple[str, str], str] = {}
    for name, record in records.items():
        for result in record.results:
            if (row := (name, result.case.tokenizer)) not in labels:
                labels[row] = _unlike(f"{result.case.tokenizer} ({name})", labels.values())
    return labels


def _of_benchmark(
    records: Mapping[str, Record], labels: Mapping[tuple[str, str], str], benchmark: str, metric: str
) -> list[Sheet]:
    measured = {name: list(_measured(record, benchmark, metric)) for name, record in records.items()}
    by_text: dict[_Text, dict[tuple[str, str], CaseResult]] = {}  # by the name of the record, and the row
    for name, results in measured.items():
        for one in results:
            by_text.setdefault(_text(records[name], one, metric), {}).setdefault((name, one.case.tokenizer), one)
    everything = [result for results in measured.values() for result in results]
    columns: dict[str, dict[str, Ranked]] = {}
    for (digest, *_), read in by_text.items():
        if len({name for name, _ in read}) > 1:
            title = _title(next(iter(read.values())), everything)
            rows = [Row(labels[name, row], records[name], result) for (name, row), result in read.items()]
            columns[_unlike(title, columns, digest[:8])] = ranked(rows, metric)
    return sheets_of(metric, columns, _notes(records, benchmark, columns))


def _title(result: CaseResult, among: Sequence[CaseResult]) -> str:
    return ", ".join(filter(None, (result.case.corpus, variant(result, among))))


def _measured(record: Record, benchmark: str, metric: str) -> Iterator[CaseResult]:
    """Results that can be ranked with those of other records: those that say which text they read."""
    if metric in record.data["metrics"]:
        yield from (one for one in record.of(benchmark) if one.status == "ok" and one.tally is not None)


def _text(record: Record, result: CaseResult, metric: str) -> _Text:
    about = record.data["metrics"][metric]
    parameters = json.dumps(dict(result.case.parameters), sort_keys=True)
    return result.tally.digest if result.tally else "", parameters, f"{about['unit']} {about['direction']}"


def _unlike(title: str, known: Iterable[str], told_by: str = "") -> str:
    """Return a title that is not known yet: as it is, with what tells it apart, or with a number."""
    taken = set(known)
    shapes = (title, f"{title} ({told_by})" if told_by else title)
    numbered = (f"{title} ({number})" for number in range(2, len(taken) + 3))
    return next(one for one in (*shapes, *numbered) if one not in taken)


def _notes(records: Mapping[str, Record], benchmark: str, columns: Mapping[str, Mapping[str, Ranked]]) -> Iterator[str]:
    """Notes of each record, under its name where another's are not the same."""
    told = {name: list(ranking_notes(one, benchmark, columns.values())) for name, one in records.items()}
    of_all = [note for note in next(iter(told.values()), []) if all(note in notes for notes in told.values())]
    yield from of_all
    yield from (f"{name}: {note}" for name, notes in told.items() for note in notes if note not in of_all)
