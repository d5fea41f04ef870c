"""Who does the parts: this machine, in ``pyharness run --parts``; or others, by a script for Slurm or GNU parallel."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.features.parts.folder import in_ranges
from pyharness.system import atomic_file
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.features.parts.folder import PartDone, PartsFolder
    from pyharness.features.parts.planning import PartsRun
    from pyharness.features.parts.working import RowWorkers
    from pyharness.running.progress import Listener
    from pyharness.store import Record
    from pyharness.suite import Suite

ENDING = ".parts"  # of the folder beside a record, until the record is written


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Plans, works and merges here. An interrupted run leaves its folder, and goes on from there."""

    name: str = "local"

    def at(self, address: str) -> LocalExecutor:
        """Return the executor at an address, of which this one has none."""
        if address:
            raise InputError(f"this machine has no address {address!r}: write --on local")
        return self

    @contextlib.contextmanager
    def doing(
        self, run: PartsRun, batches: Iterable[Sequence[int]], hear: Callable[[PartDone | str, bool], None]
    ) -> Iterator[Sequence[RowWorkers]]:
        """Do parts, one batch after the other, and give the processes here that did them.

        ``hear`` gets what became of each part, or a remark; and whether the part was done before.
        """
        from pyharness.features.parts import working

        with working.lanes(run, run.plan.suite.workers) as lanes:
            for batch in batches:
                working.work(run, batch, hear, lanes)
            yield lanes

    def run(
        self, declared: Suite, parts: int, output: Path, listener: Listener, say: Callable[[str], None], *,
        force: bool, resume: bool, quiet: bool = False, until: str | None = None,
    ) -> Record:  # fmt: skip
        """Run a suite in parts and write its record; ``say`` gets lines on each part, or of failures alone (``quiet``).

        ``until``: parts are read in a drawn order, until ratios to the reference row are narrower than this, as "0.5%".

        Raises:
            InputError: the suite cannot be run in parts, there is an unfinished run that is not to be resumed, or none
                that is, or the record cannot be written.
        """
        from pyharness.features.parts import looks, merging, planning, working

        width = None if until is None else looks.limit_of(until)
        if width is not None:
            looks.check(declared, parts, width)
        merging.check_output(output, force=True)  # that it is no folder: what may be replaced is asked below
        if atomic_file.is_stream(output):
            raise InputError(f"a run in parts keeps a folder beside its record, and {str(output)!r} is no file")
        folder = output.with_name(output.name + ENDING)
        # A killed run may have written the state, and not yet the record.
        force |= resume and folder.exists() and not output.exists()
        merging.check_output(output, force)
        if parts == 1 and self.name == "local" and not folder.exists():  # of a cluster it is asked to read the text
            return self._in_one_go(declared, output, listener, force=force, resume=resume)
        if resume and not folder.exists():
            raise InputError(f"there is no unfinished run in parts to resume: {str(folder)!r} does not exist")
        if not resume and folder.exists():
            what = "parts of which some failed" if output.exists() else "an unfinished run: continue it with --resume,"
            raise InputError(f"{str(folder)!r} holds {what}; or remove it, or choose another --output")
        run = planning.made(declared, parts, folder)
        enough = None if width is None else looks.Until(run, width)
        batches = [range(parts)] if enough is None else enough.batches()

        def hear(what: PartDone | str, before: bool) -> None:
            for line in () if quiet else [what] if isinstance(what, str) else working.in_words(what, parts, before):
                say(line)

        with self.doing(run, batches, hear) as lanes:
            stopped = enough is not None and enough.stopped is not None
            record = merging.merge(run, output, listener, lanes, force=force, partial=stopped)
        if enough is not None and stopped and not quiet:
            say(enough.in_words())
        if failed := _failed(run.folder):
            first = run.folder.done(failed[0])
            reason = first.failed[0].reason if first is not None else ""
            what = f"error: a case failed in part {in_ranges(failed)} of {parts}: {reason}"
            merged = "merge --partial" if stopped else "merge"
            say(f"{what}; kept {folder}: remove PART.done.json there to try again, with pyharness work and {merged}")
        else:
            run.folder.remove()
        return record

    def _in_one_go(self, declared: Suite, output: Path, listener: Listener, *, force: bool, resume: bool) -> Record:
        """Run a suite in one part: nothing is to be added up, so nothing is written and read again for that."""
        from pyharness import store, suite
        from pyharness.features.parts import planning
        from pyharness.running import runner

        planning.check(declared)
        with store.Journal(output, overwrite=force, resume=resume) as journal:
            return runner.run(suite.plan(declared, listener.preparing), journal, listener, resume)

    def clear(self, output: Path) -> None:
        """Remove the folder that a run has left which was killed after it had written its record."""
        from pyharness.features.parts.folder import PLAN, PartsFolder

        folder = output.with_name(output.name + ENDING)
        if (folder / PLAN).is_file() and not _failed(opened := PartsFolder.opened(folder)):
            opened.remove()
        with contextlib.suppress(OSError):
            folder.rmdir()


def _failed(folder: PartsFolder) -> list[int]:
    """Return the parts in which a case failed: they may be tried again, as after a full disk."""
    return [part for part in range(folder.plan.parts) if (done := folder.done(part)) is not None and done.failed]


EXECUTORS = (LocalExecutor(),)


# ---------------------------------------------------------------------------------------------- scripts


ARRAY = 1000  # tasks of a Slurm array: by default no task has a higher number (MaxArraySize)


def slurm(folder: Path, missing: Sequence[int], at_once: int | None) -> str:
    """Return commands that submit arrays of at most 1,000 tasks; each adds the first part of its array."""
    lines = []
    for thousand, parts in groupby(missing, lambda part: part // ARRAY):
        tasks = in_ranges([part % ARRAY for part in parts]).replace(" ", "")
        limit = "" if at_once is None else f"%{at_once}"
        number = "$SLURM_ARRAY_TASK_ID" if not thousand else f"$(({thousand * ARRAY} + SLURM_ARRAY_TASK_ID))"
        task = f'pyharness work {_path(folder)} --part "{number}"'
        lines.append(f"sbatch --array={tasks}{limit} --chdir={_path(Path.cwd())} --wrap={shlex.quote(task)}")
    return _script(lines, folder)


def parallel(folder: Path, missing: Sequence[int], at_once: int | None) -> str:
    """Return one command that gives the numbers of the parts to GNU parallel."""
    jobs = "" if at_once is None else f" --jobs {at_once}"
    numbers = "\n".join(map(str, missing))
    # The folder is a variable: GNU parallel would replace braces in its name.
    line = (
        f"cd {_path(Path.cwd())} && PYHARNESS_PARTS={_path(folder)} && export PYHARNESS_PARTS &&\n"
        f"parallel{jobs} 'pyharness work \"$PYHARNESS_PARTS\" --part {{}}' <<'PARTS'\n{numbers}\nPARTS"
    )
    return _script([line] if missing else [], folder)


SCRIPTS: Mapping[str, Callable[[Path, Sequence[int], int | None], str]] = {"slurm": slurm, "parallel": parallel}


def _path(path: Path) -> str:
    name = str(path.absolute())
    if not name.isprintable():
        raise InputError(f"{name!r} has characters that end a line: a script cannot name it; rename it")
    return shlex.quote(name)


def _script(lines: Sequence[str], folder: Path) -> str:
    then = f"# then: pyharness merge {_path(folder)} -o record.json"
    return "\n".join(("#!/bin/sh", *(lines or ("# no part is missing",)), then)) + "\n"
