"""Dry run: cases, texts, missing vocabularies, and an estimate of the time of a run.

It reads text for a short time to measure its size. It trains, downloads, measures and writes nothing.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyharness import corpora, report, store, suite, tokenizers
from pyharness.benchmarks import STARTED_IN, benchmarks
from pyharness.report.sheet import size
from pyharness.running import run_record
from pyharness.running.progress import foretold, in_words
from pyharness.running.schedule import Schedule
from pyharness.system.child_process import said_by
from pyharness.system.environment import cores
from pyharness.types import COUNT, Case, Corpus, Tally, Unsupported, counted

READ_SECONDS = 2.0  # time to read each text for
STARTS = 3
_COUNTS = ("cases", "tokenizers", "texts", "finished")
LEAST, MOST = 0.4, 1.6  # factors on the estimate; runs on a busy machine took 0.45 to 0.9


@dataclass(frozen=True, slots=True)
class PlannedCases:
    """The cases of a benchmark."""

    benchmark: str
    cases: int
    tokenizers: int
    texts: int
    finished: int  # measured already by the resumed run


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A tokenizer, and the steps before its measurement."""

    tokenizer: str
    spec: str
    lacking: str  # "training", "download" or nothing


@dataclass(frozen=True, slots=True)
class PlannedText:
    """Size of a text, as far as known."""

    corpus: str
    spec: str
    documents: int | None  # None: the text needs a network, and was not read
    bytes: int | None
    whole: bool  # whether this is all of the text


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of the remaining cases, without training and downloads."""

    least: float
    most: float
    process_starts_in: float  # seconds, on this machine now
    without: dict[str, int]  # cases by benchmark without an estimate


@dataclass(frozen=True, slots=True)
class DryRun:
    """The plan of a run, its texts, and its estimate."""

    suite: str
    cases: tuple[PlannedCases, ...]
    tokenizers: tuple[PlannedRow, ...]
    corpora: tuple[PlannedText, ...]
    estimate: Estimate


def foresee(declared: suite.Suite, record: Path | None = None, *, resume: bool = False) -> DryRun:
    """Plan a suite, and describe its run.

    Args:
        declared: the suite.
        record: the planned record, if its name is known.
        resume: whether to continue the unfinished run of that record.

    Raises:
        InputError: the suite has an error, a text cannot be read, or ``record`` has an unfinished run that is not
            resumed or is another one.
    """
    plan = suite.plan(declared, obtain=False)
    schedule = Schedule.of(plan)
    finished: frozenset[str] = frozenset()
    if record is not None:
        finished = store.finished_cases(record, run_record.header(plan, schedule), resume)
    texts = tuple(_text(label, corpus) for label, corpus in plan.corpora.items())
    left = schedule.left(finished)
    rows = (PlannedRow(label, row.name, tokenizers.lacking(row.name)) for label, row in schedule.rows.items())
    return DryRun(
        declared.name,
        tuple(_count_cases(schedule.cases, left)),
        (*rows, *_others(schedule)),
        texts,
        _estimate(left, {text.corpus: text.bytes for text in texts if text.bytes is not None}, declared.workers),
    )


def _others(schedule: Schedule) -> Iterator[PlannedRow]:
    """Yield rows that only other rows' cases load, if they are not obtained yet."""
    specs: dict[str, None] = {}
    for case in schedule.cases:
        loads = benchmarks()[case.benchmark].loads
        with contextlib.suppress(Unsupported):
            if loads is not None and (spec := loads(case.parameters, schedule.rows[case.tokenizer])) is not None:
                specs[spec] = None
    names = {row.name for row in schedule.rows.values()}
    for spec in specs:
        if spec not in names and (lacking := tokenizers.lacking(spec)):
            yield PlannedRow(spec, spec, lacking)


def _count_cases(cases: tuple[Case, ...], left: list[Case]) -> Iterator[PlannedCases]:
    for name in dict.fromkeys(case.benchmark for case in cases):
        mine = [case for case in cases if case.benchmark == name]
        texts = {case.corpus for case in mine} - {None}
        finished = len(mine) - sum(case.benchmark == name for case in left)
        yield PlannedCases(name, len(mine), len({case.tokenizer for case in mine}), len(texts), finished)


def _text(label: str, corpus: Corpus) -> PlannedText:
    if corpora.is_remote(corpus.name):
        return PlannedText(label, corpus.name, None, None, whole=False)
    tally, until = Tally(), float("inf")
    for document in corpus.documents(tally):
        tally.add(document)
        until = min(until, time.monotonic() + READ_SECONDS)  # the first document may take long: a hundred files to open
        if time.monotonic() >= until:
            return PlannedText(label, corpus.name, tally.documents, tally.bytes, whole=False)
    return PlannedText(label, corpus.name, tally.documents, tally.bytes, whole=True)


def _estimate(cases: list[Case], sizes: dict[str, int], workers: int) -> Estimate:
    starts = statistics.median(seconds_to_start() for _ in range(STARTS))
    side_by_side, total = min(workers, cores()), 0.0
    for case in cases:
        total += (foretold(case, sizes) or 0.0) / (1 if benchmarks()[case.benchmark].timed else side_by_side)
    total *= starts / STARTED_IN
    without = Counter(case.benchmark for case in cases if foretold(case, sizes) is None)
    return Estimate(LEAST * total, MOST * total, starts, dict(without))


def seconds_to_start() -> float:
    """Return the seconds that one of our processes takes to start."""
    began = time.monotonic()
    list(said_by(["pyharness.running.workers.worker"]))  # it ends, because it gets no request
    return time.monotonic() - began


def sheets(run: DryRun) -> list[report.Sheet]:
    """Return the dry run as sheets for people."""
    return [_cases_sheet(run), _rows_sheet(run), _texts_sheet(run)]


def _cases_sheet(run: DryRun) -> report.Sheet:
    rows = tuple(
        (report.Cell(one.benchmark), *(report.Cell(getattr(one, name), COUNT) for name in _COUNTS)) for one in run.cases
    )
    total = sum(case.cases - case.finished for case in run.cases)
    headings = (report.Heading("benchmark", "word"), *map(report.Heading, _COUNTS))
    return report.Sheet(
        f"Dry run of {run.suite}: {counted(total, 'case')} to measure", headings, rows, tuple(_notes(run))
    )


def _notes(run: DryRun) -> Iterator[str]:
    guess = run.estimate
    if guess.most:
        ends = dict.fromkeys((in_words(guess.least), in_words(guess.most)))
        yield (
            f"{'Between' if len(ends) > 1 else 'About'} {' and '.join(ends)}, if this machine stays as busy as now. It "
            f"takes {guess.process_starts_in / STARTED_IN:.1f} times as long as a quiet one: a process takes "
            f"{guess.process_starts_in:.2f} s to start, not {STARTED_IN} s."
        )
    kinds = ("training", "download")
    lacking = {kind: sum(row.lacking == kind for row in run.tokenizers) for kind in kinds}
    left_out = [f"{kind} of {counted(count, 'tokenizer')}" for kind, count in lacking.items() if count]
    left_out += [f"{counted(count, 'case')} of {name}" for name, count in guess.without.items()]
    if left_out:
        yield f"Not included, because it cannot be estimated: {', '.join(left_out)}."
    if lacking["training"]:
        yield "Rows that are trained first may add cases: checks against the library of their files."


def _rows_sheet(run: DryRun) -> report.Sheet:
    names = (report.Heading("tokenizer", "name"), report.Heading("specification", "name"))
    headings = (*names, report.Heading("needs first", "word"))
    rows = tuple(tuple(map(report.Cell, (row.tokenizer, row.spec, row.lacking or "-"))) for row in run.tokenizers)
    return report.Sheet("Tokenizers", headings, rows)


def _texts_sheet(run: DryRun) -> report.Sheet:
    names = (report.Heading("text", "name"), report.Heading("specification", "name"))
    headings = (*names, report.Heading("to read"), report.Heading("documents"))
    rows = tuple(
        (
            report.Cell(one.corpus),
            report.Cell(one.spec),
            report.Cell(None if one.bytes is None else ("" if one.whole else "> ") + size(one.bytes)),
            report.Cell(one.documents, COUNT),
        )
        for one in run.corpora
    )
    notes = []
    if any(not corpus.whole and corpus.bytes is not None for corpus in run.corpora):
        notes.append(f">: at least. Reading stopped after {READ_SECONDS:g} s.")
    if any(one.bytes is None for one in run.corpora):
        notes.append("-: on a network; not read.")
    return report.Sheet("Texts", headings, rows, tuple(notes))
