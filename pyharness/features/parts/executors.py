"""Who does the parts of ``pyharness run --parts``: this machine, as many side by side as the suite has workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.features.parts.folder import PartDone
    from pyharness.running.progress import Listener
    from pyharness.store import Record
    from pyharness.suite import Suite

ENDING = ".parts"  # of the folder beside a record, until the record is written


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Plans, works and merges here. An interrupted run leaves its folder, and goes on from there."""

    name: str = "local"

    def run(
        self, declared: Suite, parts: int, output: Path, listener: Listener, say: Callable[[str], None], *,
        force: bool, resume: bool,
    ) -> Record:  # fmt: skip
        """Run a suite in parts and write its record; ``say`` gets a line for each part.

        Raises:
            InputError: the suite cannot be run in parts, there is an unfinished run that is not to be resumed, or none
                that is, or the record cannot be written.
        """
        from pyharness.features.parts import merging, planning, working

        merging.check_output(output, force)
        folder = output.with_name(output.name + ENDING)
        if resume and not folder.exists():
            raise InputError(f"there is no unfinished run in parts to resume: {str(folder)!r} does not exist")
        if not resume and folder.exists():
            raise InputError(
                f"{str(folder)!r} holds an unfinished run in parts: continue it with --resume, remove it, or choose "
                "another --output"
            )
        run = planning.made(declared, parts, folder)

        def hear(done: PartDone) -> None:
            size = max((one.bytes for one in done.cases), default=0)
            say(f"part {done.part} of {parts}: {size / 1e6:,.1f} MB of text, {done.seconds:,.1f} s")
            for one in working.failed(done):
                say(f"part {done.part} of {parts}: {one.case}: {one.reason}")

        working.work(run, range(parts), hear, declared.workers)
        record = merging.merge(run, output, listener, force=force)
        run.folder.remove()
        return record


EXECUTORS = (LocalExecutor(),)
