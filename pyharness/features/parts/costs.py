"""What the rest of a run in parts takes: foretold of the parts that are done, or of declared rates where none is.

A part costs what the parts before it cost, because parts are of equal size, less the start of a process if it is not
the first of that process. Adding up is bound by unpacking.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from pyharness.benchmarks import STARTED_IN
from pyharness.commands.dry_run import STARTS, seconds_to_start
from pyharness.corpora.parts import FileListing, whole_of
from pyharness.features.parts.folder import PartDone
from pyharness.features.parts.planning import PartsRun
from pyharness.report.sheet import Cell, Heading, Sheet, size
from pyharness.running.progress import foretold, in_words
from pyharness.system.environment import cores
from pyharness.types import InputError, counted

UNPACKED = 30e6  # bytes of files of parts that are added up in a second
FINISHED = 3.0  # seconds in which a case is loaded, verified and computed once its parts are added up
SAMPLED, PACKED, HISTOGRAM = 8.4e6, 0.3, 0.8e6  # bytes of a sample; of a file, for each of these, and besides
MERGED = 1.3  # peak memory of a merge, of that of a part: the most that was measured (0.95 to 1.3)


@dataclass(frozen=True, slots=True)
class PartCost:
    """What a part takes, all its cases together."""

    measured: int  # parts that this is the mean of; 0: it is foretold
    cases: int
    seconds: float
    threads: int  # that read it
    text: float  # bytes
    files: float  # bytes
    memory: int | None = None  # peak of a process in bytes; None: not known
    start: float = 0.0  # seconds that its rows take besides in processes that did no part before


@dataclass(frozen=True, slots=True)
class RunCost:
    """What parts take that are not done, and adding all up."""

    parts: int  # that are not done
    text: float  # bytes to read
    core_seconds: float
    seconds: float  # by the clock
    folder: float  # bytes of the files of all parts
    merge_seconds: float
    merge_memory: int | None


def cost(part: PartCost, parts: int, left: int, workers: int, pace: float = 1.0) -> RunCost:
    """Return the cost of ``left`` of ``parts`` by ``workers`` at a time, and of adding up all of them.

    ``pace``: how much longer this machine takes than a quiet one.

    Raises:
        InputError: there is no worker.
    """
    if workers < 1:
        raise InputError(f"{workers} workers do no part: write --workers 1 or more")
    merge = pace * (part.cases * FINISHED + parts * part.files / UNPACKED)
    by_the_clock = -(-left // workers) * part.seconds + (part.start if left else 0.0) + merge
    folder = parts * part.files
    memory = None if part.memory is None else round(part.memory * MERGED)
    core_seconds = left * part.seconds * part.threads + min(workers, left) * part.start + merge
    return RunCost(left, left * part.text, core_seconds, by_the_clock, folder, merge, memory)


def of_a_part(run: PartsRun, done: list[PartDone], pace: float = 1.0) -> PartCost:
    """Return what a part takes: the mean of those that are done without a failure, or what their cases declare.

    Raises:
        InputError: none is done, and a benchmark declares no rate.
    """
    well = [one for one in done if not one.failed]
    if not well:
        return _declared(run, pace)
    cases, starts = [case for one in well for case in one.cases], _starts(well)
    waited = sum(starts.get(case.case, 0.0) for case in cases if case.started)
    return PartCost(
        measured=len(well),
        cases=len(run.folder.plan.cases),
        seconds=(sum(one.seconds for one in well) - waited) / len(well),
        threads=max(case.threads for case in cases),
        text=sum(case.bytes for case in cases) / len(well),
        files=sum(case.size for case in cases) / len(well),
        memory=max(case.memory for case in cases) or None,
        start=sum(starts.values()),
    )


def _starts(done: list[PartDone]) -> dict[str, float]:
    """Return the seconds that cases took longer in processes that did no part before, where both are known."""
    seconds = defaultdict[tuple[str, bool], list[float]](list)
    for case in (case for one in done for case in one.cases):
        seconds[case.case, case.started].append(case.seconds)
    both = [key for key, started in seconds if started and (key, False) in seconds]
    return {key: max(0.0, fmean(seconds[key, True]) - fmean(seconds[key, False])) for key in both}


def _declared(run: PartsRun, pace: float) -> PartCost:
    parts = run.folder.plan.parts
    sizes = {label: -(-FileListing.of(whole_of(corpus)).size // parts) for label, corpus in run.plan.corpora.items()}
    rates = [foretold(case, sizes) for case in run.cases]
    if None in rates:
        raise InputError("no part is done, and a benchmark declares no rate: do one part first, with pyharness work")
    texts = [sizes[str(case.corpus)] for case in run.cases]
    return PartCost(
        measured=0,
        cases=len(texts),
        seconds=pace * sum(filter(None, rates)),
        threads=cores(),
        text=float(sum(texts)),
        files=sum(PACKED * min(size, SAMPLED) + HISTOGRAM for size in texts),
    )


def of_the_rest(run: PartsRun, workers: int) -> tuple[PartCost, RunCost]:
    """Return what a part of a run takes, and what is left of the run."""
    parts = run.folder.plan.parts
    done = [one for part in range(parts) if (one := run.folder.done(part)) is not None]
    pace = median(seconds_to_start() for _ in range(STARTS)) / STARTED_IN
    part = of_a_part(run, done, pace)
    return part, cost(part, parts, parts - len(done), workers, pace)


def sheet(run: PartsRun, workers: int, price: float | None) -> Sheet:
    """Return the cost as a table; ``price``: of an hour of a core."""
    part, rest = of_the_rest(run, workers)
    return Sheet(
        f"Cost of {run.folder.plan.parts:,} parts with {workers:,} at a time",
        (Heading("what", "name"), Heading("cost", "prose")),
        tuple((Cell(what), Cell(told)) for what, told in _lines(rest, price)),
        (_source(part),),
    )


def _lines(rest: RunCost, price: float | None) -> Iterator[tuple[str, str]]:
    hours = rest.core_seconds / 3600
    yield "parts to do", f"{rest.parts:,}, {size(round(rest.text))} of text for all rows together"
    yield "core hours", f"{hours:,.2f}"
    if price is not None:
        yield "price", f"{hours * price:,.2f}"
    yield "time", in_words(rest.seconds)
    yield "of which merging", in_words(rest.merge_seconds)
    yield "memory of the merge", "not known" if rest.merge_memory is None else size(rest.merge_memory)
    yield "folder", size(round(rest.folder))


def _source(part: PartCost) -> str:
    if part.measured:
        return f"Time of a part: {part.seconds:,.1f} s, from {counted(part.measured, 'part')} already done."
    about = "No part is done without a failure. So rates are declared ones and may be off by half."
    return f"{about} A part takes about {part.seconds:,.1f} s."
