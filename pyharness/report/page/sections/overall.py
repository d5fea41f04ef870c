"""Rows over all texts: relative to the reference, with the paired interval, and ranks where it tells rows apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyharness.report.ranking import Ranked, ranks_of
from pyharness.report.sheet import Cell
from pyharness.statistics.overall import Overall, overall
from pyharness.types import COUNT, Format, Measurement

NOTE = (
    "Overall: times as much as {reference}, the geometric mean over the texts, each of which counts alike; "
    "[low, high]: its paired 95 % interval, of as much other text of each kind. Rows of one rank are not told apart."
)
_TIMES = Format("{:.4f} x")

Columns = Mapping[str, Mapping[str, Ranked]]  # by text, then by row


def overall_cells(columns: Columns, metric: str, rows: Sequence[str], reference: str) -> dict[str, tuple[Cell, Cell]]:
    """What a row is relative to the reference over all texts, and its rank; nothing where it does not compete."""
    found = {row: _between(columns, metric, reference, row) for row in rows}
    higher = _higher(columns, metric)
    known = [(row, one) for row, one in found.items() if one is not None]
    known.sort(key=lambda pair: -pair[1].ratio if higher else pair[1].ratio)

    def is_worse(leader: str, row: str) -> bool | None:
        between = _between(columns, metric, leader, row)
        if between is None or between.interval is None:
            return None
        return between.resolved and (between.ratio < 1) == higher

    ranks = ranks_of([row for row, _ in known], is_worse)
    return {
        row: (_cell(one, itself=row == reference), Cell(rank, COUNT))
        for (row, one), rank in zip(known, ranks, strict=True)
    }


def _cell(found: Overall, *, itself: bool) -> Cell:
    return Cell(found.ratio, _TIMES, None if itself else found.interval, bounds=True, unit="times")


def _between(columns: Columns, metric: str, a: str, b: str) -> Overall | None:
    """B relative to A over all texts; None where one lacks a text, did not read the same, or does not compete."""
    pairs = []
    for column in columns.values():
        one, other = column.get(a), column.get(b)
        if one is None or other is None or one.result.tally != other.result.tally:
            return None
        if not (one.competes and other.competes):
            return None
        pairs.append((_measured(one, metric), _measured(other, metric)))
    return overall(pairs)


def _measured(ranked: Ranked, metric: str) -> Measurement:
    return next(one for one in ranked.result.measurements if (one.metric, one.part) == (metric, None))


def _higher(columns: Columns, metric: str) -> bool:
    some = next(one for column in columns.values() for one in column.values())
    return bool(some.row.record.data["metrics"][metric]["direction"] == "higher")
