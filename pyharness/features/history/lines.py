"""Lines of a history: points of one series, in the order of revisions, and where they change.

A line is of one machine where that machine has ``ENOUGH`` points, and of all other machines together. What is suspected
is a step of times (``steps``), or a change of memory or instructions beyond the budget of the gate.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from pyharness.features.gate.types import Figure
from pyharness.features.gate.verdicts.judgements import ALLOWED
from pyharness.features.history.collecting import Nature, SeriesName, can_be_shown, whole_text
from pyharness.features.history.database import Database
from pyharness.features.history.steps import FEWEST, LevelStep, steps
from pyharness.types import InputError

# What a gate says of a suspicion ("": it was not asked). waived: gate.toml accepts it. not compared: it gave no figure.
Outcome: TypeAlias = Literal["", "confirmed", "not confirmed", "inconclusive", "waived", "not compared"]
ENOUGH = 20  # points of a machine for a line of its own
EFFECT = 0.015  # half of the gate's budget
NEAR = 5  # revisions: steps of two machines so near are one change
WELL_BEFORE = 10  # points: a drift is seen in its middle, and has begun by the last point before
_POINTS = (
    "SELECT p.series, v.place, p.revision, r.machine, p.value, p.low, p.high, p.samples FROM points p "
    "JOIN records r ON r.id = p.record JOIN revisions v ON v.id = p.revision WHERE v.place IS NOT NULL "
    "ORDER BY p.record"
)


@dataclass(frozen=True, slots=True)
class LinePoint:
    """A figure at a revision on one machine; of several records, their mean."""

    place: int
    revision: str
    machine: str
    value: float
    low: float | None
    high: float | None
    judged: bool


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """Points of a series, in the order of revisions; of one machine or (machine "") of several."""

    series: SeriesName
    machine: str
    points: tuple[LinePoint, ...]

    @property
    def judged(self) -> tuple[LinePoint, ...]:
        """Points whose error is known, or which have none."""
        return tuple(point for point in self.points if point.judged)


@dataclass(frozen=True, slots=True)
class LineChange:
    """A change between two measured revisions of a line."""

    line: HistoryLine
    before: LinePoint  # the last point of the old level
    after: LinePoint  # the first one of the new level
    old: float  # level, as the points' values
    new: float
    baseline: LinePoint  # of the old level: what a gate compares with the line's last point
    taken_back: bool = False  # the line ends near the old level
    alone: bool = False  # shown by this machine, and not by another that measured both sides
    outcome: Outcome = ""
    why: str = ""  # of the outcome

    @property
    def effect(self) -> float:
        """new / old - 1 of logarithms; the difference of other values."""
        size = self.new - self.old
        return math.expm1(size) if self.line.series.nature in ("ratio", "count") else size

    @property
    def slower(self) -> bool:
        """Whether the figure grew: more time, memory or instructions."""
        return self.new > self.old


def lines_of(database: Database) -> list[HistoryLine]:
    """Return all lines, by series and machine."""
    rows = database.rows(_POINTS)
    for row in rows:
        _check(row, database.name)
    rows.sort(key=lambda row: (row[0], row[1], row[3]))  # of a record's order within: databases differ in that of texts
    lines: list[HistoryLine] = []
    for text, group in groupby(rows, key=lambda row: row[0]):
        series, own = series_of(str(text), database.name), list(group)
        if not all(can_be_shown(series.nature, *row[4:7]) for row in own):
            raise _damaged(database.name, "a value is too large to be measured")
        points = [_merged(list(same)) for _, same in groupby(own, key=lambda row: row[1:4])]
        lines += _by_machine(series, points)
    return lines


def _damaged(name: str, what: str) -> InputError:
    return InputError(f"{name} is damaged: {what}; pyharness history rebuild makes it again of its records")


def _check(row: Sequence[object], name: str) -> None:
    """Refuse a point that this version does not write: a file may be a stranger's."""
    texts, value, ends = (row[0], row[2], row[3]), row[4], [end for end in row[5:7] if end is not None]
    whole = all(isinstance(one, str) for one in texts) and all(isinstance(one, int) for one in (row[1], row[7]))
    if not whole or not all(isinstance(one, float) and math.isfinite(one) for one in (value, *ends)):
        raise _damaged(name, "a point is not what this version writes")


def series_of(text: str, name: str) -> SeriesName:
    """Read a series; raise ``InputError`` where the text is damaged. ``name`` is what it calls the history."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    if (
        not isinstance(parts, list)
        or len(parts) != len(SeriesName._fields)
        or not all(isinstance(p, str) for p in parts)
    ):
        raise _damaged(name, "a series is not what this version writes")
    if parts[0] not in get_args(Nature):
        raise _damaged(name, f"a series is of unknown nature {parts[0][:20]!r}")
    return SeriesName(parts[0], *map(whole_text, parts[1:]))


def _merged(rows: Sequence[tuple[str, int, str, str, float, float | None, float | None, int]]) -> LinePoint:
    """Return the mean of the points of one revision and machine: of those that are judged, if there are any."""
    best = [row for row in rows if row[7] > 0] or list(rows)
    _, place, revision, machine, *_ = best[0]
    middle = _mean([row[4] for row in best])
    low, high = _mean([row[5] for row in best]), _mean([row[6] for row in best])
    return LinePoint(place, revision, machine, middle or 0.0, low, high, best[0][7] > 0)


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _by_machine(series: SeriesName, points: Sequence[LinePoint]) -> Iterator[HistoryLine]:
    counts = Counter(point.machine for point in points if point.judged)
    own = [machine for machine, count in sorted(counts.items()) if count >= ENOUGH]
    for machine in own:
        yield HistoryLine(series, machine, tuple(point for point in points if point.machine == machine))
    rest = tuple(point for point in points if point.machine not in own)
    if rest:
        machines = {point.machine for point in rest}
        yield HistoryLine(series, machines.pop() if len(machines) == 1 else "", rest)


def can_be_judged(line: HistoryLine) -> bool:
    """Whether a line has enough points for a verdict."""
    needed: Mapping[Nature, int] = {"ratio": 2 * FEWEST, "count": 2, "exact": 2, "shown": 0}
    least = needed[line.series.nature]
    return least > 0 and len(line.judged if line.series.nature == "ratio" else line.points) >= least


def changes_of(lines: Sequence[HistoryLine], effect: float = EFFECT) -> list[LineChange]:
    """Return all changes, the largest growth first: steps of at least ``effect``, and changes of other figures."""
    of_lines = [list(_changes(line, effect)) for line in lines]
    changes = [one for of_line in of_lines for one in of_line]
    back = [_is_taken_back(one, of_line) for of_line in of_lines for one in of_line]
    marked = [replace(one, alone=_is_alone(one, changes, lines), taken_back=gone)
              for one, gone in zip(changes, back, strict=True)]  # fmt: skip
    return sorted(marked, key=lambda one: -one.effect)


def _is_taken_back(change: LineChange, of_line: Sequence[LineChange]) -> bool:
    """Whether later changes of a line undo at least half of one."""
    later = sum(one.new - one.old for one in of_line if one.after.place > change.after.place)
    size = change.new - change.old
    return later * size < 0 and abs(later) >= abs(size) / 2


def _changes(line: HistoryLine, effect: float) -> Iterator[LineChange]:
    if not can_be_judged(line):
        return
    if line.series.nature == "ratio":
        yield from _steps(line, math.log1p(effect))
    else:
        yield from _at_once(line)


def _steps(line: HistoryLine, effect: float) -> Iterator[LineChange]:
    points = line.judged
    seen = steps([point.value for point in points], effect)
    ends = [*(step.index for step in seen[1:]), len(points)]
    begins = [0, *(step.index for step in seen)]
    for step, begin, end in zip(seen, begins, ends, strict=False):
        old, new = points[begin : step.index], points[step.index : end]
        if (levels := _within_machines(old, new, step)) is not None and abs(levels[1] - levels[0]) >= effect:
            yield LineChange(line, old[-1], new[0], *levels, old[-WELL_BEFORE:][0])


def _within_machines(old: Sequence[LinePoint], new: Sequence[LinePoint], step: LevelStep) -> tuple[float, float] | None:
    """Return the levels of a step as the machines on both sides of it show them; None: only the machine changed."""
    machines = {point.machine for point in (*old, *new)}
    if len(machines) == 1:
        return step.before, step.after
    both = {point.machine for point in old} & {point.machine for point in new}
    if not both:
        return None
    before, after = (
        [np.median([p.value for p in side if p.machine == one]) for one in sorted(both)] for side in (old, new)
    )
    return step.before, step.before + float(np.median(np.subtract(after, before)))


def _at_once(line: HistoryLine) -> Iterator[LineChange]:
    """Compare each point with the first one since the last change: so a drift is seen, too."""
    figure, least = line.series.figure, 0.0
    if line.series.nature == "count":
        least = math.log1p(ALLOWED[cast(Figure, figure)].share if figure in ALLOWED else 0.05)
    levels: dict[str, list[LinePoint]] = {}  # of each machine: its points since the last change
    for point in line.points:
        old = levels.setdefault(point.machine, [])
        if old and abs(point.value - old[0].value) > least:
            yield LineChange(line, old[-1], point, old[0].value, point.value, old[-WELL_BEFORE:][0])
            old.clear()
        old.append(point)


def level(line: HistoryLine, changes: Sequence[LineChange]) -> float:
    """Return the level that a line ends with: the median of its points since the last change."""
    begin = max((one.after.place for one in changes if one.line == line), default=0)
    points = line.judged or line.points
    return float(np.median([point.value for point in points if point.place >= begin] or [points[-1].value]))


@dataclass(frozen=True, slots=True)
class PlacedRevision:
    """A revision on the line of the branch."""

    place: int
    revision: str
    committed: str
    subject: str


@dataclass(frozen=True)
class History:
    """Lines and changes of a history, and the revisions that it knows."""

    lines: tuple[HistoryLine, ...]
    changes: tuple[LineChange, ...]
    places: tuple[PlacedRevision, ...]  # in order
    waiting: tuple[str, ...]  # measured revisions without a place
    since: int = 0  # the first place whose changes count
    reasons: Mapping[str, str] = field(default_factory=dict)  # revision -> why its latest failed gate gave no point

    @property
    def suspected(self) -> tuple[LineChange, ...]:
        """Growth of times, memory and instructions that is still there, the largest first."""
        judged = [one for one in self.changes if one.line.series.nature in ("ratio", "count")]
        return tuple(one for one in judged if one.slower and not one.taken_back and one.after.place >= self.since)

    def of_outcome(self, *outcomes: Outcome) -> tuple[LineChange, ...]:
        """What is suspected and has one of these outcomes."""
        return tuple(one for one in self.suspected if one.outcome in outcomes)

    @property
    def exit_code(self) -> int:
        """1: confirmed, 2: nothing to compare or a suspicion without its gate, 3: suspected, else 0."""
        if self.of_outcome("confirmed"):
            return 1
        if not self.comparable or self.of_outcome("not compared"):
            return 2
        return 3 if self.of_outcome("", "inconclusive") else 0

    @property
    def comparable(self) -> bool:
        """Whether a line of times has enough points for a verdict: memory alone, from two points on, is not enough."""
        return any(can_be_judged(one) for one in self.lines if one.series.nature == "ratio")

    @property
    def measured(self) -> set[int]:
        """Places with a point."""
        return {point.place for line in self.lines for point in line.points}


def history_of(
    database: Database, effect: float = EFFECT, since: str | None = None, commit: str | None = None
) -> History:
    """Read a history, and find its changes.

    Args:
        database: the history.
        effect: smaller steps are left out.
        since: only changes at this revision or later count.
        commit: what git says that ``since`` names; where it is not on the line, ``since`` is the beginning of an id.

    Raises:
        InputError: ``since`` names no revision on the line, or is the beginning of several; or the history is damaged.
    """
    lines = lines_of(database)
    query = "SELECT place, id, COALESCE(committed, ''), COALESCE(subject, '') FROM revisions WHERE place IS NOT NULL"
    rows = database.rows(f"{query} ORDER BY place")
    if not all(isinstance(place, int) and all(isinstance(one, str) for one in texts) for place, *texts in rows):
        raise _damaged(database.name, "a revision is not what this version writes")
    places = tuple(PlacedRevision(*row) for row in rows)
    first = 0 if since is None else _place(places, since, commit)
    reasons = {whole_text(revision): whole_text(reason) for revision, _, _, reason in database.gaps()}
    changes = tuple(changes_of(lines, effect))
    return History(tuple(lines), changes, places, tuple(database.waiting()), first, reasons)


def _place(places: Sequence[PlacedRevision], since: str, commit: str | None) -> int:
    matches = [one.place for one in places if one.revision == commit]
    if since and not matches:
        matches = [one.place for one in places if one.revision.startswith(since)]
    if len(matches) != 1:
        what = "several revisions begin so" if matches else "no revision of this history begins so"
        raise InputError(f"--since {since!r}: {what}; pyharness history report --format csv lists the measured ones")
    return matches[0]


def _is_alone(change: LineChange, changes: Sequence[LineChange], lines: Iterable[HistoryLine]) -> bool:
    """Whether another line of the series measured both sides of a step, and shows none near."""
    series, place = change.line.series, change.after.place
    others = [line for line in lines if line.series == series and line.machine != change.line.machine]
    spanning = [line for line in others if can_be_judged(line) and line.judged
                and line.judged[0].place < place - NEAR and line.judged[-1].place > place + NEAR]  # fmt: skip
    near = any(
        one.line in spanning and one.slower == change.slower and abs(one.after.place - place) <= NEAR for one in changes
    )
    return bool(spanning) and not near
