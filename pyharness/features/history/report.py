"""A history as sheets, as rows for programs, as a comment on a pull request, and as JUnit XML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from pyharness.features.gate.report.junit import TestCase, junit_xml
from pyharness.features.history.collecting import MOST_LOG
from pyharness.features.history.lines import History, HistoryLine, LineChange, Outcome, can_be_judged, level
from pyharness.features.history.measuring.bisecting import StepSearch
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, CommentPart
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.strings import visible
from pyharness.types import COUNT, Format, counted

OF_A_COMMIT = 10  # characters of a commit's id
RECENT = 30  # revisions
MOST_GAPS = 20  # runs of revisions that are listed
NOT_JUDGED = "Nothing is judged by these times: they change with the machine and its load."
_NEXT: dict[Outcome, str] = {  # what to do about a suspicion, the most urgent first
    "confirmed": "find the commit: pyharness history find BENCHMARK; or declare what is wanted in gate.toml",
    "not compared": "mend what stopped the gate and check again; --since REV leaves older changes out",
    "": "ask a gate: pyharness history check --confirm",
    "inconclusive": "ask again on a quieter machine: pyharness history check --confirm",
}
_EFFECT = Format("{:+.1f} %", 100, "%")
_PLAIN = Format("{:.4g}")
_POINT = ("nature", "suite", "benchmark", "figure", "definition", "anchor", "machine", "place", "revision", "value",
          "low", "high", "judged")  # fmt: skip


def sheets(history: History) -> list[Sheet]:
    """Return tables for people: the answer, what changed, each line's figures, gaps, and absolute times."""
    parts = (_answer, changes_sheet, _exact, _levels, _gaps, _shown)
    return [one for part in parts if (one := part(history)).rows]


def headline(history: History) -> str:
    """Return the verdict in a line."""
    judged = [one for one in history.lines if one.series.nature in ("ratio", "count") and can_be_judged(one)]
    suspected = history.suspected
    if alerts := history.of_outcome("confirmed"):
        return f"Confirmed: {_figures(alerts)} grew, of {counted(len(judged), 'line')}."
    if not history.comparable:
        more = f" Suspected so far: {_figures(suspected)}." if suspected else ""
        return f"Nothing to compare: no line of times has 10 points that can be judged.{more}"
    if not suspected:
        return f"Nothing is suspected in {counted(len(judged), 'line')}."
    if not history.of_outcome("", "inconclusive", "not compared"):
        return f"Nothing is confirmed: {_figures(suspected)} suspected, of {counted(len(judged), 'line')}."
    return f"Suspected: {_figures(suspected)} grew, of {counted(len(judged), 'line')}."


def _figures(changes: Sequence[LineChange]) -> str:
    return counted(len({(one.line.series.benchmark, one.line.series.figure) for one in changes}), "figure")


def _answer(history: History) -> Sheet:
    rows = [("verdict", headline(history)), *((one.outcome or "suspected", in_words(one)) for one in history.suspected)]
    if step := next_step(history):
        rows.append(("next", step))
    measured = len(history.measured)
    rows.append(("revisions", f"{measured:,} measured of {counted(len(history.places), 'revision')} on the line"))
    if waiting := history.waiting:
        some = ", ".join(one[:OF_A_COMMIT] for one in waiting[:3]) + ", ..." * (len(waiting) > 3)
        rows.append(("waiting", f"{counted(len(waiting), 'revision')} not on the line: {some}"))
    few = sum(one.series.nature == "ratio" and not can_be_judged(one) for one in history.lines)
    if few:
        rows.append(("too few", f"{counted(few, 'line')} of times with fewer than 10 points that can be judged"))
    return Sheet(
        "History", (Heading("about", "word"), Heading("result", "prose")), tuple(text_row(*row) for row in rows)
    )


def next_step(history: History) -> str:
    """Return what to do now; "" where there is nothing to do."""
    if not history.comparable and history.waiting:
        return "place what waits: git fetch --unshallow, then pyharness history rebuild --branch NAME"
    if not history.comparable:
        return "measure more revisions: pyharness history fill --anchor REV RANGE"
    return next((step for outcome, step in _NEXT.items() if history.of_outcome(outcome)), "")


def in_words(change: LineChange) -> str:
    """Return a change in a line: benchmark, figure, size, where, and what is to be said of it."""
    series = change.line.series
    size = (
        _EFFECT.show(change.effect) if series.nature in ("ratio", "count") else f"{change.old:.6g} -> {change.new:.6g}"
    )
    where = f"{change.before.revision[:OF_A_COMMIT]}..{change.after.revision[:OF_A_COMMIT]}"
    what = f"{series.benchmark} {series.figure} {size} in {where}"
    return "; ".join(filter(None, (what, _notes(change), change.why)))


def _notes(change: LineChange) -> str:
    alone = f"on one machine alone: {machine_name(change.line.machine)}" if change.alone else ""
    return "; ".join(filter(None, ("taken back since" * change.taken_back, alone)))


def machine_name(machine: str) -> str:
    """Return a machine in words; "" is several."""
    try:
        facts = json.loads(machine) if machine else {}
    except (ValueError, RecursionError):
        facts = {}
    if not isinstance(facts, dict) or not facts:
        return "several machines" if not machine else "an unknown machine"
    return ", ".join(filter(None, (str(facts.get("cpu", "")), f"{facts.get('cores', '?')} cores")))


def changes_sheet(history: History) -> Sheet:
    """Return all changes of times, memory and instructions, the largest growth first."""
    headings = (
        Heading("benchmark", "name", whole=True), Heading("figure", "word"), Heading("change"),
        Heading("after", "word"), Heading("at or before", "word"), Heading("subject", "prose", dispensable=1),
        Heading("machine", "name", dispensable=3), Heading("note", "prose", dispensable=2),
    )  # fmt: skip
    subjects = {one.revision: one.subject for one in history.places}
    rows = tuple(
        (Cell(one.line.series.benchmark), Cell(one.line.series.figure), Cell(one.effect, _EFFECT),
         Cell(one.before.revision[:OF_A_COMMIT]), Cell(one.after.revision[:OF_A_COMMIT]),
         Cell(subjects.get(one.after.revision) or None), Cell(machine_name(one.line.machine)),
         Cell(_notes(one) or None))
        for one in history.changes if one.line.series.nature in ("ratio", "count")
    )  # fmt: skip
    return Sheet("What changed", headings, rows, ("Change: of the level, which is a median of ratios to the anchor.",))


def _exact(history: History) -> Sheet:
    headings = (Heading("case", "name", whole=True), Heading("metric", "word"), Heading("old"), Heading("new"),
                Heading("after", "word"), Heading("at or before", "word"))  # fmt: skip
    rows = tuple(
        (Cell(one.line.series.benchmark), Cell(one.line.series.figure), Cell(one.old), Cell(one.new),
         Cell(one.before.revision[:OF_A_COMMIT]), Cell(one.after.revision[:OF_A_COMMIT]))
        for one in history.changes if one.line.series.nature == "exact"
    )  # fmt: skip
    return Sheet("What a text determines, and where it changed", headings, rows)


def _levels(history: History) -> Sheet:
    headings = (
        Heading("benchmark", "name", whole=True), Heading("figure", "word"),
        Heading("since the anchor"), Heading(f"last {RECENT}"), Heading("points"),
        Heading("anchor", "word", dispensable=1), Heading("machine", "name", dispensable=2),
    )  # fmt: skip
    last = history.places[-1].place if history.places else 0
    judged = [one for one in history.lines if one.series.nature in ("ratio", "count")]
    rows = [
        (Cell(one.series.benchmark), Cell(one.series.figure), Cell(math.expm1(level(one, history.changes)), _EFFECT),
         Cell(_recent(one, history, last - RECENT), _EFFECT), Cell(len(one.judged), COUNT),
         Cell(one.series.anchor[:OF_A_COMMIT]), Cell(machine_name(one.machine)))
        for one in judged
    ]  # fmt: skip
    return Sheet("Each line", headings, tuple(sorted(rows, key=lambda row: -float(row[2].value or 0))))


def _recent(line: HistoryLine, history: History, after: int) -> float:
    """Return what the changes of the last revisions add up to."""
    sizes = [one.new - one.old for one in history.changes if one.line == line and one.after.place > after]
    return math.expm1(min(sum(sizes), MOST_LOG))


def _gaps(history: History) -> Sheet:
    """Return runs of revisions without a point; the longest are listed.

    A run has one reason, or none: nobody has asked for its gates. Such runs begin after the first measured revision.
    """
    measured = history.measured
    first = min(measured, default=math.inf)
    runs: list[tuple[str, list[str]]] = [("", [])]
    for one in history.places:
        reason = history.reasons.get(one.revision, "")
        if one.place in measured or (one.place < first and not reason):
            runs.append(("", []))
            continue
        if reason != runs[-1][0]:
            runs.append((reason, []))
        runs[-1][1].append(one.revision)
    gaps = sorted((run for run in runs if run[1]), key=lambda run: (not run[0], -len(run[1])))
    notes = (f"{counted(len(gaps) - MOST_GAPS, 'shorter run')} left out.",) if len(gaps) > MOST_GAPS else ()
    rows = tuple(
        (Cell(run[0][:OF_A_COMMIT]), Cell(run[-1][:OF_A_COMMIT]), Cell(len(run), COUNT), Cell(reason or None))
        for reason, run in gaps[:MOST_GAPS]
    )
    headings = (Heading("from", "word"), Heading("to", "word"), Heading("revisions"),
                Heading("reason", "prose", dispensable=1))  # fmt: skip
    return Sheet("Revisions that were not measured", headings, rows, notes)


def _shown(history: History) -> Sheet:
    headings = (Heading("case", "name", whole=True), Heading("metric", "word"), Heading("latest"), Heading("points"),
                Heading("at", "word"), Heading("machine", "name", dispensable=1))  # fmt: skip
    rows = tuple(
        (Cell(one.series.benchmark), Cell(one.series.figure), Cell(one.points[-1].value, _PLAIN),
         Cell(len(one.points), COUNT), Cell(one.points[-1].revision[:OF_A_COMMIT]), Cell(machine_name(one.machine)))
        for one in history.lines if one.series.nature == "shown"
    )  # fmt: skip
    return Sheet("Times of one process", headings, rows, (NOT_JUDGED,))


def flat(history: History) -> Sheet:
    """Return a row for each point: logarithms of ratios to the anchor, or values of metrics."""
    words = {"nature", "suite", "benchmark", "figure", "definition", "anchor", "machine", "revision"}
    headings = tuple(Heading(name, "word" if name in words else "number") for name in _POINT)
    return Sheet("points", headings, tuple(tuple(map(Cell, row)) for row in _point_rows(history)))


def visible_texts(sheet: Sheet) -> Sheet:
    """Return a sheet whose texts drive no terminal: formats with escapes of their own do without."""
    rows = [
        tuple(replace(cell, value=visible(cell.value)) if isinstance(cell.value, str) else cell for cell in row)
        for row in sheet.rows
    ]
    return replace(sheet, rows=tuple(rows))


def _point_rows(history: History) -> Iterator[tuple[str | float | int | None, ...]]:
    for line in history.lines:
        for one in line.points:
            yield (*line.series, one.machine, one.place, one.revision, one.value, one.low, one.high, int(one.judged))


def comment(history: History) -> Comment:
    """Return the comment on a history: what is suspected first, all else folded."""
    first, *others = sheets(history)
    lines = [f"{one.outcome or 'suspected'}: {in_words(one)}" for one in history.suspected]
    lines += [f"next: {step}"] if (step := next_step(history)) else []
    about = first.rows[-1][1].text if first.rows else ""
    return Comment(
        headline(history), about, tuple(lines),
        (CommentPart(tuple(others), "all changes, lines and gaps", MOST_BYTES_OF_A_TABLE),),
    )  # fmt: skip


def to_junit(history: History, *, strict: bool) -> str:
    """Return XML: a test case for each judged figure.

    What is confirmed is a failure, what a gate could not compare an error, and what is suspected is skipped (under
    ``strict`` a failure).
    """
    of_figure: dict[tuple[str, str], list[LineChange]] = {}
    for line in history.lines:
        if line.series.nature in ("ratio", "count"):
            of_figure.setdefault((line.series.benchmark, line.series.figure), [])
    for change in history.suspected:
        of_figure[change.line.series.benchmark, change.line.series.figure].append(change)
    cases = [
        TestCase(f"history.{figure}", name, _junit_outcome(changes, strict), "; ".join(map(in_words, changes)))
        for (name, figure), changes in of_figure.items()
    ]
    if not history.comparable:
        cases.append(TestCase("history", "history", "error", headline(history)))
    return junit_xml("pyharness history", "history", cases)


def _junit_outcome(changes: Sequence[LineChange], strict: bool) -> Literal["", "failure", "error", "skipped"]:
    outcomes = {one.outcome for one in changes}
    if "confirmed" in outcomes:
        return "failure"
    if "not compared" in outcomes:
        return "error"
    if not outcomes & {"", "inconclusive"}:
        return ""
    return "failure" if strict else "skipped"


def search_sheets(search: StepSearch, subject: str) -> list[Sheet]:
    """Return what a search found, and its gates; ``subject`` is that of the culprit."""
    good, bad = search.good[:OF_A_COMMIT], search.bad[:OF_A_COMMIT]
    rows = [("benchmark", search.benchmark)]
    if search.step is not None:
        rows.append(("step", f"{_EFFECT.show(math.expm1(search.step.effect))} between the ends"))
    if search.culprit:
        rows.append(("commit", f"{search.culprit[:OF_A_COMMIT]} {subject}; confirmed against {good}"))
    else:
        rows += [("between", f"{good}..{bad}"), ("why", search.why)]
    launches = sum(one.launches for one in search.trail)
    rows.append(("measured", f"{counted(len(search.trail), 'pair')} of revisions, {counted(launches, 'launch')}"))
    headings = (Heading("base", "word"), Heading("head", "word"), Heading("change"), Heading("launches"))
    trail = tuple(
        (Cell(one.base[:OF_A_COMMIT]), Cell(one.head[:OF_A_COMMIT]),
         Cell(math.expm1(one.effect), _EFFECT, (math.expm1(one.low), math.expm1(one.high)), bounds=True),
         Cell(one.launches, COUNT))
        for one in search.trail
    )  # fmt: skip
    answer = Sheet("Search", (Heading("about", "word"), Heading("result", "prose")),
                   tuple(text_row(*row) for row in rows))  # fmt: skip
    return [answer, *([Sheet("What was measured", headings, trail)] if trail else [])]
