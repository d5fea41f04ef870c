"""A difference of one number and its verdict, and differences as sheets.

There are three judges: the paired interval over groups of documents; without one, for metrics that follow the number of
tokens alone, the signed ranks of the documents; and for an exact metric the values themselves. Without a judge, a
primary metric with a better direction is *inconclusive*: no verdict is no pass. Others without a judge are shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyharness.report.sheet import NOTHING, Cell, Heading, Sheet
from pyharness.report.sheet.cases import TRAINED_MARK
from pyharness.report.sheet.strings import writable
from pyharness.statistics.signed_ranks import SignedRanks
from pyharness.types import COUNT, Format, counted

INCONCLUSIVE, NO_CURVE, NOT_SIGNIFICANT, EQUAL = "inconclusive", "no curve", "not significant", "same"
DEPENDS_ON_SIZE, UNJUDGED = "depends on size", "no verdict"


@dataclass(frozen=True, slots=True)
class Difference:
    """``b - a`` of one metric of one case."""

    title: str  # the rows and the text
    metric: str
    part: str | None
    a: float | None
    b: float | None
    interval: tuple[float, float] | None
    direction: str
    tolerance: float = 0.0  # relative
    grows_with_text: bool = False
    exact: bool = False  # any difference counts, without an interval
    deterministic: bool = True
    curve: tuple[float | None, ...] = ()  # b - a on nested parts of the text, the last of which is all of it
    no_interval: str | None = None  # why neither an interval nor another test judges
    primary: bool = False
    ranks: SignedRanks | None = None  # of the tokens of every document, in place of an interval

    @property
    def name(self) -> str:
        """Metric and part."""
        return self.metric if self.part is None else f"{self.metric} {self.part}"

    @property
    def share(self) -> float | None:
        """``b - a`` as a share of ``a``; None if ``a`` is zero or a value is missing."""
        return (self.b - self.a) / abs(self.a) if self.a and self.b is not None else None

    @property
    def holds_along_curve(self) -> bool:
        """Whether the difference has one sign on every part of the text."""
        differences = [difference for difference in self.curve if difference is not None]
        return len(differences) == len(self.curve) > 1 and (min(differences) > 0 or max(differences) < 0)

    def _has_a_sign(self, low: float, high: float) -> bool:
        """Return whether all of the interval is on the side of ``b - a``: medians and rounds may differ in sign."""
        return self.a is not None and self.b is not None and (low > 0 if self.b > self.a else high < 0)

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` only if something judges, and more text gives no reason to doubt it.

        ``same`` if the values are equal, or within the difference between machines. ``depends on size`` if a metric
        that grows with the text has differences of both signs on parts of it; ``no curve`` if the record lacks these.
        ``inconclusive`` if nothing judges a primary metric.
        """
        if self.a is None or self.b is None:
            return ""
        if math.isclose(self.a, self.b, rel_tol=self.tolerance):
            return EQUAL
        if self.interval is None and not self.exact:
            return self._without_interval()
        if self.interval is not None and not self._has_a_sign(*self.interval):
            return NOT_SIGNIFICANT
        if self.grows_with_text and not self.holds_along_curve:
            return DEPENDS_ON_SIZE if self.curve else NO_CURVE
        return self._way

    def _without_interval(self) -> str:
        if self.judged_by_ranks:
            return self._way
        return INCONCLUSIVE if self.primary and self.deterministic and self.direction != "none" else ""

    @property
    def judged_by_ranks(self) -> bool:
        """Whether the documents judge: more often than by chance, B takes more tokens if worse, fewer if better.

        If one long document outweighs the others, the number itself may go the other way: then nothing judges.
        """
        if self.interval is not None or self.exact or self.ranks is None or not self.ranks.decides:
            return False
        return self._way == ("worse" if self.ranks.sign > 0 else "better")

    @property
    def _way(self) -> str:
        """Verdict of the values alone, for two that differ."""
        if self.direction == "none":
            return "differs"
        return "better" if ((self.b or 0) > (self.a or 0)) == (self.direction == "higher") else "worse"

    @property
    def unjudged(self) -> bool:
        """Whether it differs, the text determines it, and it has a better direction, but nothing judges it."""
        judgeable = self.a is not None and self.b is not None and self.deterministic and self.direction != "none"
        return judgeable and self.verdict in (INCONCLUSIVE, NO_CURVE, "")

    @property
    def looks_worse(self) -> bool:
        """Whether the values alone, which chance may have moved, make B worse; a better look can never fail."""
        return self._way == "worse"

    @property
    def judged_by(self) -> str:
        """Source of the verdict, in words; "" without a judge."""
        if self.verdict == EQUAL:
            return ""
        if self.judged_by_ranks and self.ranks is not None:
            return said_of(self.ranks)
        if self.interval is not None:
            return "interval"
        return "values" if self.exact else ""


def said_of(ranks: SignedRanks) -> str:
    """Return a test in words, the same wherever it judges."""
    left = "" if ranks.differing == ranks.pairs else f", of which {ranks.differing:,} differ"
    return f"signed-rank over {counted(ranks.pairs, 'document')}{left}, p = {ranks.p:.2g}"


RESOLVED = ("worse", "better", "differs")  # verdicts with a direction or a difference, in the order of display
_ALL = (*RESOLVED, INCONCLUSIVE, NOT_SIGNIFICANT, DEPENDS_ON_SIZE, NO_CURVE, UNJUDGED, EQUAL)


def resolved_first(found: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return resolved differences, the worse before the better and each largest first, and all others in their order.

    Inconclusive ones are first among the others.
    """
    resolved: list[Difference] = []
    others: list[Difference] = []
    for one in found:
        (resolved if one.verdict in RESOLVED else others).append(one)
    return sorted(resolved, key=_order), sorted(others, key=lambda one: one.verdict != INCONCLUSIVE)


def _order(one: Difference) -> tuple[int, float]:
    return RESOLVED.index(one.verdict), -math.inf if one.share is None else -abs(one.share)


_METRIC, _VERDICT = Heading("metric", "prose"), Heading("verdict", "word")
_VALUE, _DIFFERENCE, _WIDTH = Format("{:.5g}"), Format("{:+.4g}"), Format("{:.2g}")
_TIME, _TIME_DIFFERENCE, _END = Format("{:.4g}"), Format("{:+.3g}"), Format("{:+.2g}")  # narrow: one more column
_FLAT = (
    "cases", "metric", "part", "a", "b", "difference", "low", "high", "direction", "verdict", "judged_by", "documents",
    "p", "reason",
)  # fmt: skip
_WORDS = ("cases", "metric", "part", "direction", "verdict", "judged_by", "reason")
_OF_TEXT = "±: half-width of the paired 95 % CI of B - A."
_IN_TURN = "low, high: 95 % CI of the median over rounds of B - A. B - A may lie outside."
_TRAINED = f"{TRAINED_MARK} was trained on this text. A gain there says nothing about other text."
_NEITHER = "-: no CI: too few documents, or none is defined for the metric."
_OUT_OF_TURN = "Times without a CI have no verdict: fewer than 6 interleaved rounds. Measure with rounds=10."


def difference_sheets(differences: Sequence[Difference]) -> list[Sheet]:
    """Return sheets for people, in the order of the cases."""
    by_title: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.a is not None and difference.b is not None:
            by_title.setdefault(difference.title, []).append(difference)
    unlike = {title: [one for one in shown if one.verdict != EQUAL] for title, shown in by_title.items()}
    unlike = {title: shown for title, shown in unlike.items() if shown}
    last, notes = list(unlike)[-1:], notes_below([one for shown in unlike.values() for one in shown])
    return [
        *_overview(by_title),
        *(
            _sheet(title, shown, (*judged_otherwise(shown), *along_curve(shown), *notes * (title in last)))
            for title, shown in unlike.items()
        ),
    ]


def _overview(by_title: Mapping[str, Sequence[Difference]]) -> list[Sheet]:
    """Count verdicts case by case. Equal numbers are in no other sheet."""
    counts = {title: Counter(one.verdict or UNJUDGED for one in shown) for title, shown in by_title.items()}
    verdicts = [one for one in _ALL if any(count[one] for count in counts.values())]
    if len(counts) < 2 and EQUAL not in verdicts:
        return []
    pairs = {title.split(" | ")[1] for title in counts if title.count(" | ") > 0}
    shared = f" | {pairs.pop()}" if len(pairs) == 1 else ""
    headings = (Heading("cases", "prose"), *(Heading(one) for one in verdicts))
    rows = tuple(
        (Cell(title.replace(shared, "", 1).replace(" | ", " ")), *(Cell(count[one], COUNT) for one in verdicts))
        for title, count in counts.items()
    )
    return [Sheet(f"Numbers by verdict: {shared.removeprefix(' | ') or 'A -> B'}", headings, rows)]


def judged_otherwise(shown: Iterable[Difference]) -> Iterator[str]:
    """Name the test of each verdict without an interval, and the reason why there is no interval."""
    tests: dict[str, list[str]] = {}
    lacks: dict[str, list[str]] = {}
    for one in shown:
        if one.judged_by_ranks:
            tests.setdefault(one.judged_by, []).append(one.name)
        elif one.unjudged and one.primary:
            lacks.setdefault(one.no_interval or "no interval", []).append(one.name)
    yield from (f"Verdict by a {test}, one for all of: {', '.join(dict.fromkeys(of))}." for test, of in tests.items())
    yield from (f"Inconclusive: {', '.join(dict.fromkeys(of))}: {lack}." for lack, of in lacks.items())


def notes_below(shown: Sequence[Difference]) -> tuple[str, ...]:
    """Explain the intervals of differences, and why some are missing."""
    in_turn = any(_in_turn(one) for one in shown)
    out_of_turn = any(not one.deterministic and one.interval is None for one in shown)
    of_text = any(one.deterministic for one in shown) or not in_turn
    trained = any(TRAINED_MARK in one.title for one in shown)
    chosen = {_TRAINED: trained, _OF_TEXT: of_text, _IN_TURN: in_turn, _NEITHER: True, _OUT_OF_TURN: out_of_turn}
    return tuple(note for note, wanted in chosen.items() if wanted)


def _in_turn(difference: Difference) -> bool:
    return not difference.deterministic and difference.interval is not None


def _sheet(title: str, shown: Sequence[Difference], notes: tuple[str, ...]) -> Sheet:
    """Return one pair of rows. Half-widths only suit centred intervals: for times, both ends are shown."""
    ends = any(map(_in_turn, shown))
    numbers = ("A", "B", "B - A", *(("low", "high") if ends else ("±",)))
    rows = tuple(_row(one, *(_ends if ends else _half)(one)) for one in shown)
    return Sheet(title, (_METRIC, *map(Heading, numbers), _VERDICT), rows, notes)


def _row(difference: Difference, *numbers: Cell) -> tuple[Cell, ...]:
    return Cell(difference.name), *numbers, Cell(difference.verdict)


def _half(one: Difference) -> tuple[Cell, ...]:
    half = None if one.interval is None else (one.interval[1] - one.interval[0]) / 2
    return Cell(one.a, _VALUE), Cell(one.b, _VALUE), Cell(_b_minus_a(one), _DIFFERENCE), Cell(half, _WIDTH)


def _ends(one: Difference) -> tuple[Cell, ...]:
    low, high = one.interval or (None, None)
    difference = Cell(_b_minus_a(one), _TIME_DIFFERENCE)
    return Cell(one.a, _TIME), Cell(one.b, _TIME), difference, Cell(low, _END), Cell(high, _END)


def _b_minus_a(one: Difference) -> float | None:
    return None if one.a is None or one.b is None else one.b - one.a


def flat_differences(differences: Sequence[Difference]) -> Sheet:
    """Return one row per metric, part and pair of cases, values in full."""
    rows = []
    for one in differences:
        low, high = one.interval or (None, None)
        ranks = one.ranks if one.judged_by_ranks else None
        values = (
            one.title, one.metric, one.part, one.a, one.b, _b_minus_a(one), low, high, one.direction, one.verdict,
            one.judged_by, None if ranks is None else ranks.pairs, None if ranks is None else ranks.p, one.no_interval,
        )  # fmt: skip
        rows.append(tuple(Cell(writable(value)) for value in values))
    headings = tuple(Heading(title, "word" if title in _WORDS else "number") for title in _FLAT)
    return Sheet("differences", headings, tuple(rows))


def along_curve(shown: Sequence[Difference]) -> Iterator[str]:
    """For metrics that grow with the text, say how the difference changes with its size."""
    growing = [one for one in shown if one.grows_with_text and one.curve]
    if not growing:
        return
    yield "These grow with the text, so that sign and size of B - A can change with more of it;"
    yield "on 1/8, 1/4, 1/2 and all of it B - A is:"
    for one in growing:
        steps = ", ".join(NOTHING if step is None else f"{step:+.3g}" for step in one.curve)
        yield f"{one.metric}: {steps}"
