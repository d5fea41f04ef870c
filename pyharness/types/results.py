"""Metrics, cases and their results, and what a benchmark says of its tables: which numbers, in which order.

A report turns these declarations into sheets. A benchmark that declares nothing gets a table of its primary metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyharness.types.corpora import TextRead

if TYPE_CHECKING:
    import numpy as np  # noqa: F401
    from numpy.typing import NDArray

State: TypeAlias = "Mapping[str, NDArray[Any]]"  # integer arrays that the numbers of a case are computed from

# Share of a text from which a row that was trained on it has no rank: what two parts of one corpus share by chance
# (licences, vendored files) is less, and moves no rank.
TRAINED_ON_TOO_MUCH = 0.01

Direction: TypeAlias = Literal["higher", "lower", "none"]


MOST_DECIMALS = 6
_NUMBER = re.compile(r"\{:([+,]*)\.\d+[fg]\}")


@dataclass(frozen=True, slots=True)
class Format:
    """How people are shown a number: ``pattern``, of ``str.format``, for the value times ``scale``, in ``unit``."""

    pattern: str = "{:.4f}"
    scale: float = 1.0
    unit: str = ""  # of what is shown, where a scale changes it

    def show(self, value: float) -> str:
        """Return a value as text.

        >>> Format("{:.1f}", 100, "%").show(0.25), PLAIN.show(-1e-9)
        ('25.0', '0.0000')
        """
        shown = self.pattern.format(value if self.scale == 1 else value * self.scale)
        return self.pattern.format(0.0) if shown == self.pattern.format(-0.0) else shown

    def show_with(self, value: float, half: float) -> tuple[str, str]:
        """Return a value and half of its interval as text. The half-width has two digits, the value as many decimals.

        >>> PLAIN.show_with(3.11432, 0.03168), COUNT.show_with(698.4, 103.2), PERCENT.show_with(0.5, 0.0)
        (('3.114', '0.032'), ('698', '100'), ('50.00', '0.00'))
        """
        width = abs(half * self.scale)
        if not 0 < width < math.inf or not (number := _NUMBER.search(self.pattern)):
            return self.show(value), self.pattern.replace("+", "").format(width)
        decimals = 1 - math.floor(math.log10(float(f"{width:.1e}")))
        digits = min(max(decimals, 0), MOST_DECIMALS)
        pattern = _NUMBER.sub(f"{{:{number[1]}.{digits}f}}", self.pattern)
        shown = Format(pattern, self.scale).show(value)
        return shown, pattern.replace("+", "").format(round(width, min(decimals, MOST_DECIMALS)))


PLAIN = Format()
COUNT = Format("{:,.0f}")
PERCENT = Format("{:.2f}", 100, "%")
MEGABYTES = Format("{:.1f}", 1e-6, "MB")
MEGA_PER_SECOND = Format("{:.2f}", 1e-6, "M/s")
MILLISECONDS = Format("{:.4g}", 1e3, "ms")
SECONDS = Format("{:.3f}", 1, "s")
RATIO = Format("{:.2f} x", 1, "x")


def counted(count: int, noun: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "document"), counted(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means, known before it is measured."""

    name: str
    unit: str
    direction: Direction  # which way is better
    summary: str
    primary: bool = False  # in the table of every benchmark that reports it, declared among its columns or not
    deterministic: bool = True  # the same text gives the same number on every machine
    tolerance: float = 0.0  # relative: what machines may differ by, where floating point comes before the integers
    grows_with_text: bool = False  # more text of the kind has another value, beyond any interval: one size compares
    exact: bool = False  # about what was tested and no other text: any difference counts, without an interval
    counts_tokens: bool = False  # on one text, how two rows differ in it is how their tokens do; fewer are better
    in_turn: bool = False  # sample i of every row of a record was taken in the same round
    format: Format = PLAIN  # for people


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark of one tokenizer on one corpus."""

    benchmark: str
    tokenizer: str
    corpus: str | None  # None: the benchmark needs no text
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Stable name of the case: the same in every run, and the key of the journal."""
        parameters = ",".join(f"{name}={self.parameters[name]}" for name in sorted(self.parameters))
        return " | ".join(filter(None, (self.benchmark, self.tokenizer, self.corpus, parameters)))


Status: TypeAlias = Literal["ok", "skipped", "failed"]


class Failure(StrEnum):
    """Why a case failed."""

    INPUT = "input"  # what the user gave cannot be used
    ERROR = "error"  # a library or a plug-in raised, or gave a value that has no place in a record
    CRASH = "crash"  # the process died, or was ended at a limit
    UNVERIFIED = "unverified"  # a check that has to pass first has failed
    WRONG = "wrong"  # the benchmark itself says that an answer is wrong
    TEXT = "text"  # the text is not the one that the cases before have read


@dataclass(frozen=True, slots=True)
class Measurement:
    """Raw values of one metric of one case. ``value`` is ``None`` with a ``reason`` when there is no number."""

    metric: str
    value: float | int | None
    reason: str | None = None
    part: str | None = None  # what the number is about within the case: a language, an input length, a threads count
    samples: tuple[float, ...] = ()  # every repetition, for timings
    replicates: tuple[float | None, ...] = ()  # the value without group g, for the jackknife; at one size if it grows
    paired: bool = False  # samples are ratios to the reference row's figure of the same round
    no_interval: str | None = None  # why a value of a text has none; replicates may still give a pair one
    no_pair: str | None = None  # why they do not: it is the text that lacks what an interval needs
    # What grows with the text: the value on about 1/8, 1/4, 1/2 and all of it, each within the next.
    curve: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Whole numbers in bins: bin i is about ``edges[i] <= x < edges[i + 1]``."""

    edges: tuple[int, ...]  # ascending, one more than there are bins
    counts: Mapping[str, tuple[int, ...]]  # what is counted -> a number of 0 or more for each bin


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case."""

    case: Case
    status: Status
    reason: str | None = None
    measurements: tuple[Measurement, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # witnesses, tallies, classes: JSON values, for people
    failure: Failure | None = None  # of a failed case
    tally: TextRead | None = None  # of the text that was read
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # sums by group of documents, where kept
    ids: str | None = None  # digest of all ids, where kept: equal where ids are
    histograms: Mapping[str, Histogram] = field(default_factory=dict)  # of the tokens of a text, by name
    # Share of the bytes it has read whose documents its row was trained on, 0 to 1; None: not known.
    trained_on: float | None = None

    @property
    def ranks(self) -> bool:
        """Whether it stands in rankings: not where what it has read was learnt before."""
        return self.trained_on is None or self.trained_on < TRAINED_ON_TOO_MUCH


class InputError(ValueError):
    """Input of the user that cannot be used.

    The message names the thing, what is known and the next step. The command line prints it and exits with 2.
    """


class Unsupported(InputError):
    """A library cannot do what a case asks of it: the case is skipped, with this reason."""


class Mismatch(Exception):
    """What is timed gives another result than was verified: there is no number of it."""


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
class Answer:
    """A line that a report begins with: what people ask, and what the results say."""

    question: str
    text: str


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
