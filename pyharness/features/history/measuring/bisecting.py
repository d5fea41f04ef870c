"""Find the commit of a step: by gates of the good end against the middle of what is left.

A gate has ten launches, and ten more are asked for, up to forty, until the interval of all leaves half of the step: so
the middle is clearly on one side. What is found is confirmed by a gate against its parent. docs/history.md has how
often that errs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyharness.features.gate.verdicts.times import trimmed_interval, trimmed_mean
from pyharness.features.history.collecting import logs_of
from pyharness.features.history.lines import History, HistoryLine, LineChange
from pyharness.features.history.measuring.gates import BaseUnbuilt, HistoryGates, TimeIsOver
from pyharness.plugins.registry import suggest
from pyharness.types import InputError

LAUNCHES = 10  # of a gate
MOST_GATES = 4  # of two revisions
MOST_OPEN = 4  # revisions about which launches do not tell: then the range is the answer
MARGIN = 5  # measured revisions on either side of a step: the scan may place it so far from its commit


class NotMeasured(Exception):
    """A revision has no time of the benchmark; the message says why."""


@dataclass(frozen=True, slots=True)
class PairEffect:
    """What the launches of two revisions say."""

    base: str
    head: str
    effect: float  # log(head / base), a trimmed mean
    low: float  # of a 95 % interval
    high: float
    launches: int


@dataclass
class StepSearch:
    """A search, and what it says: the culprit, or else the bracket that it lies in."""

    benchmark: str
    good: str
    bad: str  # at the end: what is left between good (without it) and bad
    step: PairEffect | None = None  # of the two ends at the beginning
    culprit: str = ""  # "": the bracket is the answer
    why: str = ""  # there is no culprit
    trail: list[PairEffect] = field(default_factory=list)


def line_named(history: History, name: str, suite: str) -> HistoryLine:
    """Return the line of times of a benchmark with the most points; raise ``InputError`` without one."""
    lines = [one for one in history.lines if one.series.nature == "ratio" and one.series.suite == suite]
    if not lines:
        raise InputError(f"this history has no times of suite {suite!r}: name the ends, as in GOOD..BAD")
    own = [one for one in lines if one.series.benchmark == name]
    if not own:
        raise suggest(f"benchmark of suite {suite!r} in this history", name, {one.series.benchmark for one in lines})
    return max(own, key=lambda one: len(one.judged))


def bracket_of(history: History, line: HistoryLine) -> tuple[str, str]:
    """Return the ends of a search for the largest growth of a line: a few measured revisions on either side of it.

    Raises:
        InputError: it did not change.
    """
    changes = [one for one in history.changes if one.line == line]
    if not changes:
        raise InputError(f"{line.series.benchmark!r} has no step in this history: name the ends, as in GOOD..BAD")
    change = max(changes, key=lambda one: (one.slower, abs(one.effect)))
    return _around(line, change, changes)


def _around(line: HistoryLine, change: LineChange, changes: Sequence[LineChange]) -> tuple[str, str]:
    """Return the ends around a change, which reach half way to the next ones."""
    points = line.judged
    index = next(place for place, one in enumerate(points) if one.place == change.after.place)
    others = [0, len(points), *(next(place for place, one in enumerate(points) if one.place == other.after.place)
                                for other in changes if other is not change)]  # fmt: skip
    before = max(place for place in others if place <= index)
    after = min(place for place in others if place > index)
    first = max(index - MARGIN, (before + index) // 2 if before else 0)
    last = min(index + MARGIN, (after + index) // 2 if after < len(points) else len(points) - 1)
    return points[min(first, index - 1)].revision, points[max(last, index)].revision


def searched(
    gates: HistoryGates, benchmark: str, revisions: Sequence[str], tell: Callable[[str], object] = str
) -> StepSearch:
    """Search for the commit of a step.

    Args:
        gates: run gates.
        benchmark: whose time it is.
        revisions: commits from the good end (which comes first) to the bad one.
        tell: gets a line for each gate.

    Raises:
        InputError: there are fewer than two revisions, or a gate cannot be asked for.
    """
    if len(revisions) < 2:
        raise InputError("there is nothing to search: the range has fewer than two revisions")
    search = StepSearch(benchmark, revisions[0], revisions[-1])
    try:
        _search(_Bisection(gates, search, revisions, tell))
    except TimeIsOver:
        search.why = "--max-minutes passed"
    except (NotMeasured, BaseUnbuilt) as lacking:
        search.why = str(lacking)
    return search


@dataclass
class _Bisection:
    gates: HistoryGates
    search: StepSearch
    revisions: Sequence[str]
    tell: Callable[[str], object]
    unmeasured: dict[int, str] = field(default_factory=dict)  # place -> why it says nothing

    def effect(self, base: str, head: str, settled: Callable[[float, float, float], bool]) -> PairEffect:
        """Measure two revisions until ``settled`` (effect, low, high), or ``MOST_GATES`` gates are through."""
        logs: list[float] = []
        for _ in range(MOST_GATES):
            logs += self._launches(base, head)
            low, high = trimmed_interval(logs) or (-math.inf, math.inf)
            middle = trimmed_mean(logs)
            if settled(middle, low, high):
                break
        measured = PairEffect(base, head, middle, low, high, len(logs))
        self.search.trail.append(measured)
        self.tell(f"{base[:10]} to {head[:10]}: {math.expm1(middle):+.1%} ({math.expm1(low):+.1%} to "
                  f"{math.expm1(high):+.1%}) in {len(logs)} launches")  # fmt: skip
        return measured

    def _launches(self, base: str, head: str) -> list[float]:
        gate = self.gates.measured(base, head, LAUNCHES, only=(self.search.benchmark,))
        if gate.self_test.faults:
            raise NotMeasured(gate.self_test.faults[0])
        logs = logs_of(gate, self.search.benchmark)
        if len(logs) < 2:
            reasons = [one.reason for one in gate.judgements if one.benchmark == self.search.benchmark]
            raise NotMeasured(next(filter(None, reasons), "the gate has no time of it"))
        return logs

    def side(self, base: str, head: str, step: float) -> bool | None:
        """Whether a revision has the step against its base; None: launches do not tell."""
        half = step / 2
        seen = self.effect(base, head, lambda _, low, high: not low <= half <= high)
        if seen.low <= half <= seen.high:
            return None
        return (seen.low > half) == (step > 0)


def _search(bisection: _Bisection) -> None:
    """Halve the bracket until it is a commit or nothing tells, then confirm that commit.

    Where launches do not tell about a middle, the next one is tried: its build may lie otherwise.
    """
    search, revisions = bisection.search, bisection.revisions
    whole = bisection.effect(search.good, search.bad, lambda effect, low, high: high - low <= abs(effect) / 2)
    search.step = whole
    if whole.low <= whole.effect / 2 <= whole.high:
        search.why = f"{MOST_GATES * LAUNCHES} launches show no step between its ends"
        return
    good, bad, unsure = 0, len(revisions) - 1, 0
    while unsure < MOST_OPEN and (middle := _middle(good, bad, bisection.unmeasured)) is not None:
        try:
            slower = bisection.side(revisions[0], revisions[middle], whole.effect)
        except NotMeasured as lacking:
            bisection.unmeasured[middle] = str(lacking)
            continue
        if slower is None:
            unsure += 1
            bisection.unmeasured[middle] = f"launches do not tell on which side {revisions[middle][:10]} is"
            continue
        good, bad = (good, middle) if slower else (middle, bad)
        search.good, search.bad = revisions[good], revisions[bad]
    if bad - good > 1:
        reasons = [why for place, why in bisection.unmeasured.items() if good < place < bad]
        search.why = f"nothing tells about the revisions between: {reasons[-1]}"
        return
    _confirm(bisection, whole.effect)


def _middle(good: int, bad: int, unmeasured: dict[int, str]) -> int | None:
    """Return the place nearest to the middle of a bracket that can be measured."""
    middle = (good + bad) // 2
    inside = [place for place in range(good + 1, bad) if place not in unmeasured]
    return min(inside, key=lambda place: abs(place - middle), default=None)


def _confirm(bisection: _Bisection, step: float) -> None:
    """Measure the culprit against its parent; where that shows no step, a decision before was wrong."""
    search, revisions = bisection.search, bisection.revisions
    parent, culprit = search.good, search.bad
    if bisection.side(parent, culprit, step):
        search.culprit = culprit
        return
    search.good, search.bad = revisions[0], revisions[-1]
    search.why = f"{culprit[:10]} against its parent does not show the step"
