"""Rows over all texts: relative to the reference, with the paired interval, and ranks as on one text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pyharness.report.ranking import Ranked, parts_on_text, ranks_of
from pyharness.report.sheet import Cell
from pyharness.statistics.family import agreed, told_apart
from pyharness.statistics.overall import Overall, overall
from pyharness.types import COUNT, Format, Measurement

NOTE = (
    "Overall: times as much as {reference}, the geometric mean over the texts, each of which counts alike; "
    "[low, high]: its paired 95 % interval, of as much other text of each kind; #: as on one text."
)
_TIMES = Format("{:.4f} x")

Columns = Mapping[str, Mapping[str, Ranked]]  # by text, then by row


def overall_cells(columns: Columns, metric: str, rows: Sequence[str], reference: str) -> dict[str, tuple[Cell, Cell]]:
    """What a row is relative to the reference over all texts, and its rank; nothing where it does not compete."""
    found = {row: _between(columns, metric, reference, row) for row in rows}
    higher = _higher(columns, metric)
    known = [(row, one) for row, one in found.items() if one is not None]
    known.sort(key=lambda pair: -pair[1].ratio if higher else pair[1].ratio)

    judged = [row for row, _ in known if all(column[row].rank is not None for column in columns.values())]
    ranks = dict(zip(judged, ranks_of(judged, _apart(columns, metric, judged)), strict=True)) if len(judged) > 1 else {}
    return {row: (_cell(one, itself=row == reference), Cell(ranks.get(row), COUNT)) for row, one in known}


def _apart(columns: Columns, metric: str, rows: Sequence[str]) -> Callable[[str, str], bool]:
    """Say whether two rows differ over all texts, as ``ranking`` does on one."""
    parts = np.mean([parts_on_text([column[row].row for row in rows], metric) for column in columns.values()], axis=0)
    told, agree, places = told_apart(parts), agreed(parts), {row: place for place, row in enumerate(rows)}

    def apart(better: str, row: str) -> bool:
        pair = places[better], places[row]
        if not told[pair] or (between := _between(columns, metric, better, row)) is None:
            return False
        if between.interval is None:
            return bool(agree[pair])
        low, high = between.interval
        return not low <= 1 <= high

    return apart


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
