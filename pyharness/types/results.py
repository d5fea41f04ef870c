"""Metrics, cases and results, and the declarations of tables: which numbers, in which order.

A report turns these declarations into sheets. A benchmark that declares nothing gets a table of its primary metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyharness.types.corpora import TextRead

if TYPE_CHECKING:
    import numpy as np  # noqa: F401
    from numpy.typing import NDArray

State: TypeAlias = "Mapping[str, NDArray[Any]]"  # integer arrays that the numbers of a case are computed from

# Least share of a text that a row was trained on for which the row has no rank. Two parts of one corpus share less
# by chance (licences, vendored files); that affects no rank.
TRAINED_ON_TOO_MUCH = 0.01

Direction: TypeAlias = Literal["higher", "lower", "none"]


MOST_DECIMALS = 6
_NUMBER = re.compile(r"\{:([+,]*)\.\d+[fg]\}")
_EXPONENT = re.compile(r"([-+]?)([\d.]+e[-+]\d+)")  # people read 15,394,000, not 1.5394e+07


@dataclass(frozen=True, slots=True)
class Format:
    """Format of a number for people: ``str.format`` pattern ``pattern`` for the value times ``scale``, in ``unit``."""

    pattern: str = "{:.4f}"
    scale: float = 1.0
    unit: str = ""  # of the formatted number; "": the metric's

    def show(self, value: float) -> str:
        """Format a value.

        >>> Format("{:.1f}", 100, "%").show(0.25), PLAIN.show(-1e-9)
        ('25.0', '0.0000')
        >>> Format("{:.5g}").show(15394123.0), Format("{:+.4g} s").show(1.2e-6), Format("{:.3e}").show(0.25)
        ('15,394,000', '+0.0000012 s', '2.500e-01')
        """
        shown = self.pattern.format(value if self.scale == 1 else value * self.scale)
        if "e}" not in self.pattern:
            shown = _EXPONENT.sub(lambda match: f"{match[1]}{Decimal(match[2]):,f}", shown)
        return self.pattern.format(0.0) if shown == self.pattern.format(-0.0) else shown

    def show_with(self, value: float, half: float) -> tuple[str, str]:
        """Format a value and half of its interval: two digits for the half-width, as many decimals for the value.

        >>> PLAIN.show_with(3.11432, 0.03168), COUNT.show_with(698.4, 103.2), PERCENT.show_with(0.5, 0.0)
        (('3.114', '0.032'), ('698', '100'), ('50.00', '0.00'))
        """
        rounded, decimals = self._rounded(half)
        width = abs(half * self.scale)
        width = width if decimals is None else round(width, min(decimals, MOST_DECIMALS))
        return rounded.show(value), rounded.pattern.replace("+", "").format(width)

    def show_ends(self, value: float, low: float, high: float) -> list[str]:
        """Format a value and the ends of its interval, without digits that are noise: beyond two of the half-width.

        >>> MEGABYTES_PER_SECOND.show_ends(211.53e6, 137.52e6, 259.35e6), RATIO.show_ends(1.3199, 1.29, 1.36)
        (['212', '138', '259'], ['1.32 x', '1.29 x', '1.36 x'])
        """
        rounded, decimals = self._rounded((high - low) / 2)
        shorter = decimals is not None and "f}" in self.pattern and len(rounded.show(value)) < len(self.show(value))
        return [(rounded if shorter else self).show(one) for one in (value, low, high)]

    def _rounded(self, half: float) -> tuple[Format, int | None]:
        """Return the format, and the decimals, of two digits of half of an interval; self and None if it has none."""
        width = abs(half * self.scale)
        if not 0 < width < math.inf or not (number := _NUMBER.search(self.pattern)):
            return self, None
        decimals = 1 - math.floor(math.log10(float(f"{width:.1e}")))
        shown = f"{{:{number[1]}.{min(max(decimals, 0), MOST_DECIMALS)}f}}"
        return Format(_NUMBER.sub(shown, self.pattern), self.scale), decimals


PLAIN = Format()
COUNT = Format("{:,.0f}")
PERCENT = Format("{:.2f}", 100, "%")
MEGABYTES = Format("{:.1f}", 1e-6, "MB")
MEGABYTES_PER_SECOND = Format("{:.2f}", 1e-6, "MB/s")
MILLISECONDS = Format("{:.4g}", 1e3, "ms")
SECONDS = Format("{:.3f}", 1, "s")
RATIO = Format("{:.2f} x", 1, "x")


def counted(count: int, noun: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "document"), counted(1200, "document"), counted(5, "launch")
    ('1 document', '1,200 documents', '5 launches')
    """
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


def listed(names: Sequence[str]) -> str:
    """Join one or more names.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True, slots=True)
class Metric:
    """Meaning of a number, known before it is measured."""

    name: str
    unit: str
    direction: Direction  # whether higher or lower is better, if either
    summary: str
    primary: bool = False  # in the table of every benchmark that reports it, even if not among its columns
    deterministic: bool = True  # the same text gives the same number on every machine
    tolerance: float = 0.0  # relative difference allowed between machines, where floating point precedes the integers
    grows_with_text: bool = False  # its value changes with the size of the text, beyond any interval
    exact: bool = False  # about the tested text alone: any difference counts, without an interval
    counts_tokens: bool = False  # on one text, two rows differ in it as their token counts do; fewer are better
    in_turn: bool = False  # sample i of every row of a record comes from the same round
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
        """Stable name of the case: the same in every run, and the key in the journal."""
        parameters = ",".join(f"{name}={self.parameters[name]}" for name in sorted(self.parameters))
        return " | ".join(filter(None, (self.benchmark, self.tokenizer, self.corpus, parameters)))


Status: TypeAlias = Literal["ok", "skipped", "failed"]


class Failure(StrEnum):
    """Why a case failed."""

    INPUT = "input"  # the user's input cannot be used
    ERROR = "error"  # a library or plug-in raised, or returned a value that a record cannot hold
    CRASH = "crash"  # the process died, was ended at a limit of memory, or gave no valid answer
    OVERDUE = "overdue"  # the process was ended at the limit of time: it hangs, or the machine is busy
    UNVERIFIED = "unverified"  # a check that must pass first has failed, or could not be made
    WRONG = "wrong"  # the benchmark found a wrong answer
    TEXT = "text"  # the text differs from the one that earlier cases read


@dataclass(frozen=True, slots=True)
class Measurement:
    """Raw values of one metric of one case. ``value`` is ``None``, with a ``reason``, where there is no number."""

    metric: str
    value: float | int | None
    reason: str | None = None
    part: str | None = None  # subject of the number within the case: a language, an input length, a number of threads
    samples: tuple[float, ...] = ()  # every repetition, for timings
    replicates: tuple[float | None, ...] = ()  # value without group g (jackknife); at full size if it grows with text
    paired: bool = False  # samples are ratios to the reference row's figure of the same round
    no_interval: str | None = None  # reason why a value has no interval; the difference of two rows may still have one
    no_pair: str | None = None  # reason why differences have no interval either: the text lacks what an interval needs
    # Values of a metric that grows with the text, on nested parts: about 1/8, 1/4, 1/2 and all of the text.
    curve: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Integers in bins: bin i holds ``edges[i] <= x < edges[i + 1]``."""

    edges: tuple[int, ...]  # ascending, one more than there are bins
    counts: Mapping[str, tuple[int, ...]]  # series -> a count of 0 or more per bin


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
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # sums per group of documents, where kept
    ids: str | None = None  # digest of all ids, where kept: equal ids, equal digests
    histograms: Mapping[str, Histogram] = field(default_factory=dict)  # of the tokens of a text, by name
    # Share of the bytes read whose documents the row was trained on, 0 to 1; None: unknown.
    trained_on: float | None = None

    @property
    def ranks(self) -> bool:
        """Whether the row is ranked on this text: not if it was trained on ``TRAINED_ON_TOO_MUCH`` of it or more."""
        return self.trained_on is None or self.trained_on < TRAINED_ON_TOO_MUCH


class InputError(ValueError):
    """Input of the user that cannot be used.

    The message names the input, the known values and the next step. The command line prints it and exits with 2.
    """


class Unsupported(InputError):
    """A library cannot do what a case requires: the case is skipped, with this reason."""


class Mismatch(Exception):
    """The timed result differs from the verified one: there is no number."""


# A line below a table: text, or a function of the table's results and the record's data that returns lines.
Note: TypeAlias = "str | Callable[[Sequence[CaseResult], Mapping[str, Any]], Iterable[str]]"

# How several numbers of one row become one: the first, the sum, the smallest, the upper median, the largest.
Pick: TypeAlias = Literal["first", "sum", "least", "median", "most"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a metric of the row, from other benchmarks if the table's own does not report it."""

    metric: str
    title: str = ""  # "": the metric's name; "{part}" in it stands for the part of a repeated column
    part: str | None = None  # only numbers about this part; None: about any
    each: bool = False  # one such column per part; adjacent columns of this kind alternate, part by part
    pick: Pick = "first"  # choice among several numbers of a row: parts, or the texts of a table over all texts
    without: tuple[str, ...] = ()  # parts to leave out of the choice
    shows: Literal["value", "value and part", "part", "spread"] = "value"  # spread: deviation of the samples over mean
    interval: bool = False  # shown with its 95 % interval
    format: Format | None = None  # None: the metric's
    optional: bool = False  # left out of a table in which it is empty or 0 in every row


@dataclass(frozen=True, slots=True)
class Fact:
    """A column with a fact about the row's tokenizer, such as ``vocab_size``: no measurement."""

    name: str
    title: str
    format: Format = COUNT


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a paper, shown below the measured rows of a table that has one of ``metrics``."""

    source: str  # note that gives their source
    rows: tuple[tuple[str, Mapping[str, str]], ...]  # name, and by metric the figure as printed, in the table's unit
    metrics: tuple[str, ...] = ()  # (): always


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of table. There is one per text, and one per value of a parameter in which the cases differ."""

    title: str
    columns: tuple[Column | Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    all_texts: bool = False  # one table for all texts: ``pick`` selects a row's number among them
    per: tuple[str, ...] = ()  # parameters that a title names even where all cases share the value
    joined: tuple[str, ...] = ()  # parameters that do not make tables of their own
    needs: tuple[str, ...] = ()  # metrics that a row must have to be in the table
    title_with_text: str = ""  # title of a table about a text, where it differs
    sized: bool = True  # the title gives the size of the text, and notes give the tally of reading it
    published: Published | None = None
    # Returns the description of the text in the title, from the results and the record's data.
    # None: label, and if ``sized``, size and documents.
    text: Callable[[Sequence[CaseResult], Mapping[str, Any]], str] | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries from the details of each case of a benchmark: a report shows the first ones, or all on request."""

    title: str
    headings: tuple[str, ...]  # of the parts of an entry
    entries: Callable[[CaseResult], Iterable[tuple[str, ...]]]
    legend: Callable[[CaseResult], Iterable[str]] = lambda _: ()  # lines that explain terms, once for all rows


# How to draw the numbers of a table. ``dots``: one panel per column, with a dot for each row. ``dots by column``: one
# panel per row, with a dot for each column. ``points``: each row is a point at its first number, in one panel for each
# of its other numbers. ``frontier``: of the first two. ``curve``: each row is a line over its columns; their titles
# have one number each.
Drawing: TypeAlias = Literal["dots", "dots by column", "points", "frontier", "curve"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A line at the top of a report: a common question, and the answer of the results."""

    question: str
    text: str
    sign: Literal["", "calm", "alarm"] = ""  # of good and of bad news


@dataclass(frozen=True, slots=True)
class Plot:
    """A table whose numbers a page draws. The numbers of columns that share an axis have one unit."""

    table: Table
    about: str  # short description, also for readers who cannot see the drawing
    drawing: Drawing = "dots"
    axis: str = ""  # label of the values of dots; "": their metrics
    at: float | None = None  # of dots: position of a line, such as 1 for ratios
    log: bool = False  # logarithmic axis: of dots; of points the first number's, and others' that span a factor of two
    # Of points: the name of a line, from the record's data and a row's label. A line joins rows of one name, in order
    # of their first number. None: no line.
    joins: Callable[[Mapping[str, Any], str], str | None] | None = None
