"""The record of a run in parts: passes are added up in the order of the parts, and the rest is measured here."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyharness import store
from pyharness.commands.session import Result
from pyharness.features.parts.folder import PartDone, PartResult, in_ranges
from pyharness.features.parts.planning import PartsRun
from pyharness.running import runner
from pyharness.running.progress import Listener
from pyharness.running.runner import PartsRead
from pyharness.running.workers.process import Workers
from pyharness.system import atomic_file, folders
from pyharness.types import Case, CaseResult, InputError


class PartsMissing(InputError):
    """Parts are not done; the message has their numbers."""


def merge(
    run: PartsRun, output: Path, listener: Listener, lanes: Sequence[Workers] = (), *, force: bool = False,
    partial: bool = False,
) -> store.Record:  # fmt: skip
    """Write the record of a run whose parts are all done, and the state of its numbers next to it.

    ``partial``: leave out the parts that are not done; the record says how many were read. A single one of ``lanes``,
    which has read parts, goes on if the suite measures row after row.

    Raises:
        PartsMissing: some are not, or with ``partial`` none is.
        InputError: the record exists (``force`` replaces it), or cannot be written.
    """
    done = all_done(run, partial)
    alone = lanes if len(lanes) == run.plan.suite.workers == 1 else ()
    with folders.scratch() as folder:
        with store.Journal(folder / "record.json") as journal:
            record = runner.run(run.plan, journal, listener, parts=parts_read(run, done), workers=alone)
        Result(record).save(output, overwrite=force)
    return record


def all_done(run: PartsRun, partial: bool = False) -> list[PartDone]:
    """Return what became of every part, in order; raise ``PartsMissing`` if any is, or with ``partial`` if all are."""
    parts = [run.folder.done(part) for part in range(run.folder.plan.parts)]
    missing = [part for part, one in enumerate(parts) if one is None]
    if missing and not (partial and len(missing) < len(parts)):
        what = f"{len(missing)} of {len(parts)} parts are missing"
        where = shlex.quote(str(run.folder.path))
        raise PartsMissing(f"{what}: {in_ranges(missing)}; do them with pyharness work {where} --part PART")
    return [one for one in parts if one is not None]


def parts_read(run: PartsRun, done: list[PartDone]) -> PartsRead:
    """Return the passes of every case, or the result of a case of which a part has none."""
    files: dict[str, tuple[str, ...]] = {}
    unread: dict[str, CaseResult] = {}
    count = run.folder.plan.parts
    for number, key in enumerate(run.folder.plan.cases):
        case = next(case for case in run.cases if case.key == key)
        if (result := _unread(case, {one.part: one.cases[number] for one in done}, count)) is None:
            paths = {one.part: str(run.folder.file_of(one.part, key).absolute()) for one in done}
            files[key] = tuple(paths.get(part, "") for part in range(count))
        else:
            unread[key] = result
    return PartsRead(files, unread, None if len(done) == count else store.PartsShare(read=len(done), of=count))


def _unread(case: Case, results: Mapping[int, PartResult], count: int) -> CaseResult | None:
    """Return the result of a case without the passes of all parts that are done; None if they are there."""
    for status in ("failed", "skipped"):
        parts = [part for part, one in results.items() if one.status == status]
        if parts:
            first = results[parts[0]]
            tried = f" after {first.tries} tries" if first.tries > 1 else ""
            where = f"part {in_ranges(parts)} of {count}{tried}: " if status == "failed" else ""
            return CaseResult(case, first.status, f"{where}{first.reason}", failure=first.failure)
    return None


def check_output(output: Path, force: bool) -> None:
    """Raise ``InputError``, before anything is measured, for a record that cannot be written."""
    atomic_file.check_writable(output, overwrite=force)  # first: a folder may have no name beside it
    atomic_file.check_writable(store.path_beside(output), overwrite=force)
