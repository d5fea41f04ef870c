"""Cells as the page shows them. A number can be traced: value, interval, unit, what it is of, and its case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.report.sheet import Cell, Heading, Kind, Sheet
from pyharness.report.sheet.escaping import visible
from pyharness.report.sheet.shortening import shorten, shorten_apart

LONGEST: dict[Kind, int] = {"name": 40, "word": 60, "number": 80, "prose": 300}  # characters of a cell
LONGEST_LINE = 200  # of a title or a heading
LONGEST_PROSE = 2000  # of a paragraph, a description or a note: all of ours are shorter
LONGEST_TIP = 500  # of a name, a reason or the key of a case in what is shown on focus
MOST_COLUMNS = 100
MOST_ROWS = 200  # of one table; of more, as many from the top as from the bottom


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell as it stands in the markup, before any escape."""

    text: str
    tip: str  # shown on hovering and focus: of a number, its value and then all else; "" where that says no more
    kind: Kind
    shade: int | None = None


def narrowed(sheet: Sheet) -> Sheet:
    """Return a sheet of columns that a browser can lay out, with a note on those that are left out."""
    more = len(sheet.headings) - MOST_COLUMNS
    if more <= 0:
        return sheet
    note = f"{more:,} more columns are left out here; pyharness report --format csv lists every number."
    rows = tuple(row[:MOST_COLUMNS] for row in sheet.rows)
    return Sheet(sheet.title, sheet.headings[:MOST_COLUMNS], rows, (*sheet.notes, note))


def shown_rows(sheet: Sheet) -> list[list[Shown]]:
    """Rows of a sheet: long names are cut, no two of a column alike."""
    columns = [_names(sheet, place) if one.kind == "name" else {} for place, one in enumerate(sheet.headings)]
    return [
        [_shown(cell, heading, names) for cell, heading, names in zip(row, sheet.headings, columns, strict=True)]
        for row in sheet.rows
    ]


def halves(rows: Sequence[Sequence[Shown]]) -> tuple[Sequence[Sequence[Shown]], Sequence[Sequence[Shown]]]:
    """Rows that stand in the table, and those between the top and the bottom of it that do not."""
    if len(rows) <= MOST_ROWS:
        return rows, ()
    half = MOST_ROWS // 2
    return [*rows[:half], *rows[-half:]], rows[half:-half]


def _names(sheet: Sheet, place: int) -> dict[str, str]:
    """Names of a column by what they are in full: what cannot be seen is written out before any is cut."""
    texts = dict.fromkeys(row[place].text for row in sheet.rows)
    seen = dict.fromkeys(map(visible, texts))
    if len(seen) < len(texts):  # one is spelled as another is written out
        return {text: f"{shorten(visible(text), LONGEST['name'])} ({number})" for number, text in enumerate(texts, 1)}
    short = shorten_apart(seen, LONGEST["name"])
    return {text: short[visible(text)] for text in texts}


def _shown(cell: Cell, heading: Heading, names: dict[str, str]) -> Shown:
    whole = cell.text
    text = names[whole] if names else shorten(visible(whole), LONGEST[heading.kind])
    if isinstance(cell.value, int | float):
        said = "; ".join(_said(cell, heading))
        return Shown(text, "" if said == text else said, heading.kind, cell.shade)
    cut = None if text == visible(whole) else whole
    return Shown(text, "; ".join(_brief(cut, cell.reason, cell.case)), heading.kind, cell.shade)


def _said(cell: Cell, heading: Heading) -> Iterator[str]:
    """What a number is, from its value to its case."""
    yield " ".join(filter(None, (repr(cell.value), cell.unit or heading.unit)))
    if cell.interval is not None:
        yield "95 % interval {:.6g} to {:.6g}".format(*cell.interval)
    yield from _brief(cell.reason, f"of {cell.n}" if cell.n else None, cell.case)


def _brief(*texts: str | None) -> Iterator[str]:
    return (shorten(visible(text), LONGEST_TIP) for text in texts if text)


def meaning(heading: Heading) -> str:
    """Say what the numbers of a column are."""
    better = "" if heading.direction == "none" else f"{heading.direction} is better"
    return ", ".join(filter(None, (heading.metric, heading.unit, better)))
