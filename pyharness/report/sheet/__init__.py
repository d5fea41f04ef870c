"""A sheet: typed cells between a record and the exporters. A number stays a number until an exporter writes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from pyharness.types import PLAIN, Direction, Format

NOTHING = "-"

# Layout of a column: names can be cut in the middle, prose wraps, words do not; numbers are whole, and aligned right.
Kind: TypeAlias = Literal["name", "prose", "word", "number"]


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column, and the meaning of its numbers."""

    title: str
    kind: Kind = "number"
    unit: str = ""  # of the values, not of the shown numbers
    direction: Direction = "none"
    metric: str | None = None
    whole: bool = False  # of a name: a terminal wraps it instead of cutting it, if no other column can give way
    dispensable: int = 0  # if a terminal has no room, the largest number is left out first; 0: never
    repeated: bool = False  # for one part: without room, a terminal shows such columns in blocks

    @property
    def meaning(self) -> str:
        """Explain the numbers of the column."""
        better = "" if self.direction == "none" else f"{self.direction} is better"
        return ", ".join(filter(None, (self.metric, self.unit, better)))


@dataclass(frozen=True, slots=True)
class Cell:
    """One value: a number with its interval and format, or text; None with the reason for it."""

    value: float | int | str | None = None
    format: Format = PLAIN
    interval: tuple[float, float] | None = None
    bounds: bool = False  # the interval is shown by its ends, not by half of its width
    part: str | None = None  # of the case, or a mark of a name: shown after the value
    case: str | None = None  # key of the case of the value
    unit: str = ""  # of the value, if not the column's
    n: str | None = None  # size of the sample: ``2,583 documents``
    reason: str | None = None
    samples: tuple[float, ...] = ()  # the value is their median, and drawings show them
    bar: float | None = None  # length of its bar relative to the longest in the column: 0 to 1
    sign: str = ""  # calm or alarm: of good and of bad news

    @property
    def text(self) -> str:
        """Text for people.

        >>> Cell(1.3199, Format("{:.2f} x"), (1.29, 1.36), bounds=True).text
        '1.32 x [1.29, 1.36]'
        >>> Cell(4.3649, interval=(4.2, 4.6)).text, Cell().text
        ('4.36 ±0.20', '-')
        """
        if self.value is None:
            return NOTHING
        if isinstance(self.value, str):
            return " ".join(filter(None, (self.value, self.part)))
        return " ".join(filter(None, (*self._with_interval(self.value), self.part)))

    def _with_interval(self, value: float) -> tuple[str, ...]:
        if self.interval is None:
            return (self.format.show(value),)
        low, high = self.interval
        if self.bounds:
            shown, *ends = self.format.show_ends(value, low, high)
            return shown, f"[{', '.join(end.partition(' ')[0] for end in ends)}]"
        shown, half = self.format.show_with(value, (high - low) / 2)
        return shown, f"±{half.partition(' ')[0]}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, headings, rows of cells and notes below them."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return tuple(heading.title for heading in self.headings)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Rows as text for people."""
        return tuple(tuple(cell.text for cell in row) for row in self.rows)


class Legend(str):
    """A note that says what a column or sign means."""

    __slots__ = ()


def legends_once(sheets: Iterable[Sheet]) -> list[Sheet]:
    """Leave out legends that the next sheet has as well, if its columns are the same."""
    listed = list(sheets)
    for number, (sheet, after) in enumerate(pairwise(listed)):
        if sheet.columns == after.columns:
            kept = (note for note in sheet.notes if not (isinstance(note, Legend) and note in after.notes))
            listed[number] = replace(sheet, notes=tuple(kept))
    return listed


def text_row(*values: str | None) -> tuple[Cell, ...]:
    """Return a row of text; a dash stands for None."""
    return tuple(Cell(value) for value in values)


def size(count: float) -> str:
    """Format a number of bytes for people."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * scale:  # a value that rounds to the unit is shown in it
            return f"{count / scale:.3g} {unit}"
    return f"{count:g} B"
