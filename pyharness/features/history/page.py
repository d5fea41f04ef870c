"""A history as one HTML page: the answer, a chart of each line, its numbers, and the other tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pyharness.features.history import report
from pyharness.features.history.lines import History, HistoryLine, LineChange, LinePoint, level
from pyharness.report.charts import AxisLabel, Line, Panel, Point, curves
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Figure, Page, Section
from pyharness.types import Format

MOST_CHARTS = 40
MOST_POINTS = 100  # of a chart and of the numbers under it: half of them the last ones, half of all before
LEVELS = "level"
_RATIO = Format("{:+.2f} %", 100, "%")
_ABOUT = (
    "A point is a revision: its time over that of the anchor, with its 95 % CI over launches. The line is the level "
    "between steps. Higher is slower. The first revision on the line of the branch is 0."
)


def page_of(history: History, name: str) -> Page:
    """Return the page about a history; ``name`` is its file's."""
    answer, *others = report.sheets(history)
    shown = [one for one in others if one.notes != (report.NOT_JUDGED,)]
    folded = [one for one in others if one not in shown]
    sections = [Section("What changed, and each line", tuple(shown))] if shown else []
    if figures := tuple(_figures(history)):
        left = len(_drawn(history)) - len(figures)
        sections.append(Section("Charts", (*figures, *([f"{left:,} more lines are in the tables."] if left else []))))
    if folded:
        sections.append(Section("Times that nothing is judged by", tuple(folded), folded=True))
    return Page(f"History {name}", tuple(sections), report.headline(history), lead=(answer,))


def _drawn(history: History) -> list[HistoryLine]:
    """Return the lines of times with a chart: those that changed first, the largest growth first."""
    changed = [one.line for one in history.changes if one.line.series.nature == "ratio"]
    others = [one for one in history.lines if one.series.nature == "ratio" and one.judged]
    return list(dict.fromkeys([*changed, *others]))


def _figures(history: History) -> Iterator[Figure]:
    for line in _drawn(history)[:MOST_CHARTS]:
        changes = sorted((one for one in history.changes if one.line == line), key=lambda one: one.after.place)
        yield _figure(line, changes)


def _figure(line: HistoryLine, changes: list[LineChange]) -> Figure:
    points, few = _thinned(line.judged)
    machines = dict.fromkeys(point.machine for point in points)
    marks = [
        Line(report.machine_name(machine), tuple(_point(one) for one in points if one.machine == machine))
        for machine in machines
    ]
    levels = Line(LEVELS, tuple(_levels(line, changes)), marked=False)
    title = f"{line.series.benchmark}, {line.series.figure}"
    panel = Panel("", AxisLabel("slower than the anchor, %"), (*marks, levels))
    return Figure(
        title, _ABOUT + few, curves([panel], title, AxisLabel("revision on the line")), _numbers(title, points)
    )


def _thinned(points: tuple[LinePoint, ...]) -> tuple[tuple[LinePoint, ...], str]:
    """Return the points that a chart has room for, from the first to the last, and what to say of the others."""
    half = MOST_POINTS // 2
    every = math.ceil(len(points[:-half]) / half) or 1
    few = f" Shown are the last {half} points, and one in {every} before." if every > 1 else ""
    return (*points[:-half:every], *points[-half:]), few


def _per_cent(value: float) -> float:
    return 100 * math.expm1(value)


def _point(one: LinePoint) -> Point:
    ends = None if one.low is None or one.high is None else (_per_cent(one.low), _per_cent(one.high))
    label = f"{one.revision[: report.OF_A_COMMIT]} {_RATIO.show(math.expm1(one.value))}"
    return Point(float(one.place), _per_cent(one.value), label, ends)


def _levels(line: HistoryLine, changes: list[LineChange]) -> Iterator[Point]:
    """Yield both ends of each level."""
    begins = [line.judged[0].place, *(one.after.place for one in changes)]
    ends = [*(one.before.place for one in changes), line.judged[-1].place]
    heights = [*(one.old for one in changes), level(line, changes)]
    for begin, end, height in zip(begins, ends, heights, strict=True):
        label = f"level {_RATIO.show(math.expm1(height))}"
        yield from (Point(float(place), _per_cent(height), label) for place in (begin, end))


def _numbers(title: str, points: tuple[LinePoint, ...]) -> Sheet:
    headings = (Heading("place"), Heading("revision", "word"), Heading("slower", direction="lower"),
                Heading("machine", "name"))  # fmt: skip
    rows = tuple(
        (Cell(one.place), Cell(one.revision[: report.OF_A_COMMIT]), _cell(one), Cell(report.machine_name(one.machine)))
        for one in points
    )
    return Sheet(title, headings, rows)


def _cell(one: LinePoint) -> Cell:
    ends = None if one.low is None or one.high is None else (math.expm1(one.low), math.expm1(one.high))
    return Cell(math.expm1(one.value), _RATIO, ends, bounds=True)
