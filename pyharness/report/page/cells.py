"""A number on the page can be traced: value, interval, unit, what it is of, and the case that it is from."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.report.sheet import Cell, Heading


def tip(cell: Cell, heading: Heading) -> str:
    """Say in full what a cell shows; nothing of a cell of text.

    >>> tip(Cell(4.3649, interval=(4.2, 4.6), n="12 documents", case="a | b"), Heading("x", unit="bytes/token"))
    '4.3649 bytes/token; 95 % interval 4.2 to 4.6; of 12 documents; a | b'
    """
    return "; ".join(_said(cell, heading))


def _said(cell: Cell, heading: Heading) -> Iterator[str]:
    if isinstance(cell.value, int | float):
        yield " ".join(filter(None, (repr(cell.value), heading.unit)))
    if cell.interval is not None:
        yield f"95 % interval {cell.interval[0]!r} to {cell.interval[1]!r}"
    if cell.reason is not None:
        yield cell.reason
    if cell.n is not None:
        yield f"of {cell.n}"
    if cell.case is not None:
        yield cell.case


def meaning(heading: Heading) -> str:
    """Say what the numbers of a column are."""
    better = "" if heading.direction == "none" else f"{heading.direction} is better"
    return ", ".join(filter(None, (heading.metric, heading.unit, better)))
