"""What a benchmark says of its tables: which numbers, in which order, and what stands below them.

A report turns these declarations into sheets. A benchmark that declares nothing gets a table of its primary metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pyharness.types.results import COUNT, CaseResult, Format

# A line below a table: text, or a function of the results in the table and of the record's data that gives lines.
Note: TypeAlias = "str | Callable[[Sequence[CaseResult], Mapping[str, Any]], Iterable[str]]"

# How several numbers of one row become one: the first, the sum, the smallest, the upper middle one, the largest.
Pick: TypeAlias = Literal["first", "sum", "least", "median", "most"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a metric of the row, from whatever benchmark measures it on the table's text."""

    metric: str
    title: str = ""  # "": the metric's name; "{part}" in it stands for the part of a repeated column
    part: str | None = None  # only numbers about this part; None: about any
    each: bool = False  # one such column per part; neighbours that are repeated take turns, part by part
    pick: Pick = "first"  # where a row has several numbers: parts, or the texts of a table over all texts
    without: tuple[str, ...] = ()  # parts that are not picked from
    shows: Literal["value", "value and part", "part", "spread"] = "value"  # spread: deviation of the samples over mean
    interval: bool = False  # shown with its 95 % interval
    format: Format | None = None  # None: the metric's
    optional: bool = False  # left out of a table in which it is empty or 0 in every row


@dataclass(frozen=True, slots=True)
class Fact:
    """A column of what the record says of the row's tokenizer, such as ``vocab_size``: no measurement."""

    name: str
    title: str
    format: Format = COUNT


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a paper, shown below the measured rows of a table that has one of ``metrics``."""

    source: str  # the note that says where they are from
    rows: tuple[tuple[str, Mapping[str, str]], ...]  # name, and by metric the figure as printed, in the table's unit
    metrics: tuple[str, ...] = ()  # (): always


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of table. There is one per text, and one per value of a parameter in which the cases differ."""

    title: str
    columns: tuple[Column | Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    all_texts: bool = False  # one table for all texts: numbers of a row are picked over them
    per: tuple[str, ...] = ()  # parameters that a title names even where all cases have the same
    joined: tuple[str, ...] = ()  # parameters that do not make tables of their own
    needs: tuple[str, ...] = ()  # metrics that a row must have to stand in the table
    title_with_text: str = ""  # the title of a table about a text, where it is another
    sized: bool = True  # the title says how large the text is, and notes say what was met in it
    published: Published | None = None
    # Describes the text in the title, from the results and the record's data; None: its label, size and documents.
    text: Callable[[Sequence[CaseResult], Mapping[str, Any]], str] | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What a benchmark can name, row by row of a tokenizer: a report shows the first, or all when asked."""

    title: str
    headings: tuple[str, ...]  # of what an entry says
    entries: Callable[[CaseResult], Iterable[tuple[str, ...]]]
    legend: Callable[[CaseResult], Iterable[str]]  # lines that explain words of the entries, once for all rows


# How the numbers of a table are drawn. ``dots``: a column is a panel, and has a dot for each row. ``dots by column``: a
# row is a panel, and has a dot for each column. ``points``: a row is a point at its first number, in one panel for each
# of the others.
Drawing: TypeAlias = Literal["dots", "dots by column", "points"]


@dataclass(frozen=True, slots=True)
class Plot:
    """A table whose numbers a page draws. Of columns that share an axis, numbers have one unit."""

    table: Table
    about: str  # what is drawn, in a sentence, for those who cannot see it too
    drawing: Drawing = "dots"
    axis: str = ""  # what the values of dots are; "": their metrics
    at: float | None = None  # of dots: where a line is, such as 1 for ratios
    log: bool = False  # the axis of dots; of points the first number's, and others' that span a factor of two
    # Of points: rows of one name are joined, by what is first; from the record's data and a row's label. None: no line.
    joins: Callable[[Mapping[str, Any], str], str | None] | None = None
