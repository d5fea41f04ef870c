"""Differences as sections of a page: those that are resolved first, as dots around zero, then all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.report import comparison
from pyharness.report.charts import Dot, dots
from pyharness.report.columns import amount
from pyharness.report.comparison import Difference, Pair
from pyharness.report.differences import along_curve, judged_otherwise, notes_below
from pyharness.report.page.parts import Block, Figure, Section
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.statistics.intervals import interval_of, lack_of
from pyharness.types import CaseResult, Format, InputError, Measurement

MOST_FIGURES = 12  # of pairs; of others there are the tables
_VALUE, _DIFFERENCE, _SHARE = Format("{:.5g}"), Format("{:+.4g}"), Format("{:+.2f} %", 100, "%")
_HEADINGS = (
    Heading("metric", "name"), Heading("unit", "word"), Heading("A"), Heading("B"), Heading("B - A"),
    Heading("B - A, of A", unit="of A"), Heading("better", "word"), Heading("verdict", "word"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared of two cases, or why nothing was."""

    pair: Pair
    differences: tuple[Difference, ...] = ()
    refused: str | None = None


def compared(pairs: Sequence[Pair]) -> list[Compared]:
    """Compare each pair by itself: text that is not the same on both sides is in no comparison, and others are."""
    return [_compared(pair) for pair in pairs]


def sections(found: Sequence[Compared]) -> Iterator[Section]:
    """Resolved differences, all others, and the cases that nothing was compared of."""
    yield Section("Differences that are resolved", tuple(_resolved(found)))
    left = [(one, comparison.resolved_first(one.differences)[1]) for one in found]
    others = [_sheet(one, differences) for one, differences in left if differences]
    if others:
        yield Section("Differences that are not resolved", (*_notes(found), *others), folded=True)
    if refused := [text_row(one.pair.title, one.refused) for one in found if one.refused is not None]:
        headings = Heading("case", "prose"), Heading("reason", "prose")
        yield Section("Not compared", (Sheet("Cases that nothing was compared of", headings, tuple(refused)),))


def _compared(pair: Pair) -> Compared:
    if pair.other is None:
        return Compared(pair, refused="there is none in B")
    if not pair.measured:
        statuses = f"{pair.one.status} in A, {pair.other.status} in B"
        return Compared(pair, refused=f"no numbers on both sides: {statuses}")
    try:
        found = comparison.differences([pair])
    except InputError as error:
        return Compared(pair, refused=str(error))
    return Compared(pair, tuple(found), None if found else "no metric that two records can be compared by")


def _resolved(found: Sequence[Compared]) -> Iterator[Block]:
    resolved = [(one, comparison.resolved_first(one.differences)[0]) for one in found]
    resolved = [(one, differences) for one, differences in resolved if differences]
    total = sum(len(one.differences) for one in found)
    count = sum(len(differences) for _, differences in resolved)
    yield f"{count:,} of {total:,} differences B - A are resolved: the paired 95 % interval leaves zero out."
    if resolved:
        yield from _notes(found)
    for place, (one, differences) in enumerate(resolved):
        sheet = _sheet(one, differences)
        if place >= MOST_FIGURES:
            yield sheet
            continue
        drawn = [Dot(each.name, _relative(one, each)) for each in differences]
        description = "B - A as a share of A; lines: paired 95 % intervals; at the broken line nothing differs."
        svg = dots(drawn, one.pair.title, "B - A, % of A", at=0.0)
        yield Figure(one.pair.title, description, svg, sheet)


def _notes(found: Sequence[Compared]) -> Iterator[str]:
    yield from notes_below([each for one in found for each in one.differences])


def _sheet(one: Compared, differences: Sequence[Difference]) -> Sheet:
    rows, notes = (
        tuple(_row(one, each) for each in differences),
        (*judged_otherwise(differences), *along_curve(differences)),
    )
    return Sheet(one.pair.title, _HEADINGS, rows, notes)


def _row(one: Compared, each: Difference) -> tuple[Cell, ...]:
    assert one.pair.other is not None  # noqa: S101 -- there are differences
    unit = str(comparison.metrics_of(one.pair).get(each.metric, {}).get("unit", ""))
    difference = None if each.a is None or each.b is None else each.b - each.a
    cell = Cell(
        difference, _DIFFERENCE, each.interval, bounds=not each.deterministic, case=one.pair.title,
        n=_amount(one, each), unit=unit, reason=each.no_interval,
    )  # fmt: skip
    sides = (_side(result, each, unit) for result in (one.pair.one, one.pair.other))
    return Cell(each.name), Cell(unit), *sides, cell, _relative(one, each), Cell(_way(each)), Cell(each.verdict)


def _side(result: CaseResult, each: Difference, unit: str) -> Cell:
    measured = _measured(result, each)
    return Cell(
        measured.value, _VALUE, interval_of(measured), case=result.case.key, n=amount(result, measured),
        reason=lack_of(measured), unit=unit,
    )  # fmt: skip


def _relative(one: Compared, each: Difference) -> Cell:
    share = each.share
    if share is None or each.a is None:
        return Cell(None, reason="A is 0, or there is no number: a share of it is none")
    interval = None if each.interval is None else (each.interval[0] / abs(each.a), each.interval[1] / abs(each.a))
    return Cell(share, _SHARE, interval, not each.deterministic, case=one.pair.title, n=_amount(one, each))


def _amount(one: Compared, each: Difference) -> str | None:
    return amount(one.pair.one, _measured(one.pair.one, each))


def _measured(result: CaseResult, each: Difference) -> Measurement:
    return next(mine for mine in result.measurements if (mine.metric, mine.part) == (each.metric, each.part))


def _way(each: Difference) -> str | None:
    return None if each.direction == "none" else each.direction
