"""The work on one part: its share of every text is read by every row, and each pass is left as a file.

A part that is done is left alone, and a damaged one is done again. Rows keep their processes from part to part. A case
that fails is tried three times, each time in a fresh process; then its reason is kept, so that the run has a failed
case and not a hole.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pyharness.corpora.parts import part_name
from pyharness.features.parts.folder import PartDone, PartResult, in_ranges
from pyharness.features.parts.planning import PartsRun
from pyharness.running.schedule import Schedule
from pyharness.running.workers import messages
from pyharness.running.workers.messages import CaseAnswer, Request
from pyharness.running.workers.process import WorkerDied, Workers, threads_of
from pyharness.store import Misshapen
from pyharness.store.json_values import get
from pyharness.suite import Suite
from pyharness.system import bounded_file, folders, threads
from pyharness.system.environment import cores
from pyharness.types import Case, CaseResult, Failure, InputError, TokenizerSpec, counted

TRIES = 3
MOST_PROCESSES = 8  # of all lanes, or one of each: each holds a tokenizer; of more rows, some share one


class RowWorkers(Workers):
    """Workers of several rows: each row keeps its process, and the tokenizer in it, from part to part."""

    def __init__(self, suite: Suite, rows: Mapping[str, TokenizerSpec], temporary: Path, side_by_side: int = 1) -> None:
        super().__init__(suite, rows, temporary, side_by_side)
        number = min(len(rows), max(1, MOST_PROCESSES // side_by_side))
        self._each = [Workers(suite, rows, temporary, side_by_side) for _ in range(number)]
        by_library = sorted(rows, key=lambda row: rows[row].library)
        self._by_row = {row: self._each[place * number // len(rows)] for place, row in enumerate(by_library)}

    def of(self, row: str) -> Workers:
        """Return the workers of a row."""
        return self._by_row[row]

    def measure(self, request: Request, progress: Callable[[int], None]) -> CaseAnswer:
        """Send a request to the process of its row."""
        return self.of(request.case.tokenizer).measure(request, progress)

    def stop(self) -> None:
        """End the current request, from another thread."""
        for workers in self._each:
            workers.stop()

    def leave(self) -> None:
        """End all processes."""
        for workers in self._each:
            workers.leave()


@contextlib.contextmanager
def lanes(run: PartsRun, side_by_side: int = 1) -> Iterator[Sequence[RowWorkers]]:
    """Give the processes that do parts, in as many lanes as asked for, and end them."""
    number = max(1, min(side_by_side, run.folder.plan.parts, cores()))
    rows = Schedule.of(run.plan).rows
    with folders.scratch() as scratch:
        every = [RowWorkers(run.plan.suite, rows, scratch / "worker", number) for _ in range(number)]
        try:
            yield every
        finally:
            for lane in every:
                lane.leave()


def work(
    run: PartsRun, parts: Sequence[int], heard: Callable[[PartDone, bool], None], every: Sequence[RowWorkers]
) -> None:
    """Do parts, one at a time in each lane; ``heard`` gets what became of each, and whether it was done before.

    An interruption keeps finished parts. Raises ``InputError`` if a part cannot be kept; or at the end, with all others
    done, if a part is another process's.
    """
    for part in parts:
        run.folder.check(part)
    elsewhere: list[int] = []

    def do(part: int, lane: RowWorkers) -> None:
        with run.folder.working(part) as ours:
            if not ours:
                elsewhere.append(part)
            elif (before := run.folder.done(part)) is not None:
                heard(before, True)
            else:
                heard(_done(run, part, lane), False)

    threads.share_out(parts, every, do, RowWorkers.stop, RowWorkers.leave)
    if elsewhere:
        what = f"part {in_ranges(sorted(elsewhere))} in {str(run.folder.path)!r}"
        raise InputError(f"another process works on {what}: wait for it, or end it")


def _done(run: PartsRun, part: int, lane: RowWorkers) -> PartDone:
    run.folder.make_part(part)
    began = time.monotonic()
    by_key = {case.key: _tried(run, part, case, lane.of(case.tokenizer)) for case in run.cases}
    results = tuple(by_key[key] for key in run.folder.plan.cases)
    done = PartDone(plan=run.folder.digest, part=part, seconds=_since(began), cases=results)
    run.folder.finish(done)
    return done


def _tried(run: PartsRun, part: int, case: Case, workers: Workers) -> PartResult:
    """Read the part of a case, in up to three tries; what fails in a process that did a part before was not one."""
    began, path = time.monotonic(), run.folder.file_of(part, case.key)
    tries = 0
    while True:
        path.unlink(missing_ok=True)
        used = bool(workers.served)
        request = _request(run, part, case, path, workers)
        result, memory = _asked(request, workers)
        tries += not (used and result.status == "failed")
        if result.status != "failed" or tries == TRIES:
            break
        workers.leave()
    known, seconds = PartResult(case=case.key, tries=tries, started=not used), _since(began)
    tried = replace(known, seconds=seconds, threads=request.threads, memory=memory)
    if result.status != "ok" or result.tally is None:
        reason = result.reason or "the process left no pass"
        return replace(tried, status=result.status, reason=reason, failure=result.failure)
    read = result.tally
    return replace(
        tried, sha256=bounded_file.digest(path), size=path.stat().st_size, documents=read.documents, bytes=read.bytes
    )


def _request(run: PartsRun, part: int, case: Case, path: Path, workers: Workers) -> Request:
    corpus = run.plan.corpora[str(case.corpus)].name
    return Request(
        case,
        tokenizer=run.plan.tokenizers[case.tokenizer].name,
        corpus=part_name(corpus, part, run.folder.plan.parts),
        threads=threads_of(case, workers.side_by_side),
        device=run.plan.suite.device,
        keep_part=str(path.absolute()),
    )


def _asked(request: Request, workers: Workers) -> tuple[CaseResult, int]:
    """Ask a worker for a part, and for the peak memory of its process; one that dies gives a failed result."""
    case = request.case
    try:
        answer = workers.measure(request, lambda _: None)
        (result, _), memory = messages.result_of(case, answer), get(answer.beside, "memory", int, default=0)
        if result.status == "ok" and not Path(str(request.keep_part)).is_file():
            raise Misshapen("it left no pass")
    except WorkerDied as death:
        return CaseResult(case, "failed", str(death), failure=death.failure), 0
    except Misshapen as error:
        return CaseResult(case, "failed", f"the process gave no result: {error}", failure=Failure.CRASH), 0
    return result, memory


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def in_words(done: PartDone, parts: int, before: bool) -> list[str]:
    """Return a line on a part of ``parts``, and one for each case of it that failed.

    ``before``: it was done before it was asked for, perhaps by another process, so its time is not this one's.
    """
    name, size = f"part {done.part} of {parts}", max((one.bytes for one in done.cases), default=0)
    seconds = "done already" if before else f"{done.seconds:,.1f} s"
    about = f"{name}: {counted(len(done.cases), 'case')}, {size / 1e6:,.1f} MB of text, {seconds}"
    return [about, *(f"error: {name}: {one.case}: {one.reason}" for one in done.failed)]
