"""A record as one flat sheet, a row per number: for pandas, spreadsheets and other programs."""

from __future__ import annotations

import json
from typing import Any

from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.escaping import writable
from pyharness.statistics.intervals import interval_of, lack_of
from pyharness.store import Record

COLUMNS = (
    "benchmark", "tokenizer", "corpus", "parameters", "metric", "part", "value", "low", "high", "unit", "direction",
    "status", "reason", "trained_on",
)  # fmt: skip
_NUMBERS = {"value", "low", "high", "trained_on"}


def flat_sheet(record: Record) -> Sheet:
    """One row per measurement, and one per case without any, so that nothing is silently dropped."""
    headings = tuple(Heading(column, "number" if column in _NUMBERS else "word") for column in COLUMNS)
    return Sheet("rows", headings, tuple(tuple(Cell(row[column]) for column in COLUMNS) for row in rows(record)))


def rows(record: Record) -> list[dict[str, Any]]:
    """Rows of ``flat_sheet`` as dictionaries."""
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
                dict.fromkeys(COLUMNS)
                | common
                | {"metric": measurement.metric, "part": measurement.part, "value": measurement.value}
                | {"low": low, "high": high, "reason": lack_of(measurement)}
                | {"unit": about.get("unit"), "direction": about.get("direction")}
            )
        if not result.measurements:
            listed.append(dict.fromkeys(COLUMNS) | common | {"reason": result.reason})
    return [{column: writable(cell) for column, cell in row.items()} for row in listed]
