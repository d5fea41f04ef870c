"""What tables are made of: the table itself, and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.statistics.jackknife import interval
from pyharness.store import Record
from pyharness.types import Case, CaseResult, Measurement

NOTHING = "-"
_AXES = {"threads": " x{}", "width": " d={}", "context": " context={}"}


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a header, rows of text and notes under them. The first column is text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def pick(result: CaseResult, metric: str, part: str | None = None) -> Measurement | None:
    """Find the measurement of a metric, or None."""
    for measurement in result.measurements:
        if measurement.metric == metric and (part is None or measurement.part == part):
            return measurement
    return None


def plain(measurement: Measurement | None, pattern: str = "{:.4f}", scale: float = 1.0) -> str:
    """Format one value; a dash when there is none."""
    if measurement is None or measurement.value is None:
        return NOTHING
    return pattern.format(measurement.value * scale)


def with_interval(measurement: Measurement | None, pattern: str = "{:.4f}", scale: float = 1.0) -> str:
    """Format a value with half of its 95 % interval."""
    text = plain(measurement, pattern, scale)
    if measurement is not None and (found := interval(measurement.value, measurement.replicates)) is not None:
        text += " ±" + pattern.replace("+", "").format((found[1] - found[0]) / 2 * scale)
    return text


def case_name(case: Case) -> str:
    """Name the benchmark of a case, with the parameters that a suite gives it several of."""
    given = case.parameters
    return case.benchmark + "".join(shape.format(given[key]) for key, shape in _AXES.items() if key in given)


def lossy(record: Record, rows: Iterable[str]) -> Iterator[str]:
    """Warn of rows that look better for what they leave out."""
    found = [row for row in rows if about_row(record, row).get("round_trip") == "lossy"]
    if found:
        yield f"Lossy, so flattered by what they leave out (WordPiece: white space): {', '.join(found)}."


def about_row(record: Record, row: str) -> Mapping[str, Any]:
    """Return what the record says of a tokenizer; nothing in one that was edited by hand."""
    about = record.data["tokenizers"].get(row)
    return about if isinstance(about, dict) else {}


def about_intervals(results: Iterable[CaseResult], metric: str) -> Iterator[str]:
    """Say what ± is about, or why values stand without, once for all rows of one text."""
    shown = [one for one in (pick(result, metric) for result in results) if one is not None]
    if any(one.replicates for one in shown):
        yield "±: half of a 95 % interval, of as much other text of this kind."
    yield from (f"No interval: {reason}." for reason in dict.fromkeys(one.no_interval for one in shown) if reason)


def size(count: float) -> str:
    """Format a number of bytes for people."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * scale:  # what rounds to the unit is shown in it
            return f"{count / scale:.3g} {unit}"
    return f"{count:g} B"
