"""Progress of a run: a bar in a terminal, one line per case in a pipe or a CI log. Always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyharness.report import visible
from pyharness.session import Silent
from pyharness.types import Case, CaseResult

if TYPE_CHECKING:
    from rich.progress import Progress

    from pyharness.runner import Listener


@contextmanager
def listener(quiet: bool) -> Iterator[Listener]:
    """Pick what suits standard error."""
    if quiet:
        yield Silent()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        said = TextColumn("{task.description}", markup=False)  # brackets in a name are no colours
        columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), said)
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bar(progress)


def _name(case: Case) -> str:
    threads = f" x{case.parameters['threads']}" if "threads" in case.parameters else ""
    return visible("  ".join(filter(None, (f"{case.benchmark}{threads}", case.tokenizer, case.corpus))))


class Lines:
    """One line per finished case."""

    def begin(self, total: int) -> None:
        """Remember how many there are."""
        self.total, self.done, self.clock = total, 0, time.monotonic()

    def started(self, case: Case) -> None:
        """Start the clock."""
        self.clock = time.monotonic()

    def progress(self, case: Case, done: int) -> None:
        """Say nothing: a log is no place for progress bars."""

    def finished(self, result: CaseResult) -> None:
        """Print the line; failures say why."""
        self.done += 1
        seconds = time.monotonic() - self.clock
        ending = "" if result.status == "ok" else f"  {result.status}: {result.reason}"
        line = f"[{self.done:>3}/{self.total}] {seconds:6.1f} s  {_name(result.case)}{visible(ending)}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201


class Bar:
    """A progress bar with the case that runs and the text it has read."""

    def __init__(self, progress: Progress) -> None:
        self.bar = progress
        self.task = progress.add_task("", total=None)

    def begin(self, total: int) -> None:
        """Set the length."""
        self.bar.update(self.task, total=total)

    def started(self, case: Case) -> None:
        """Name the case."""
        self.bar.update(self.task, description=_name(case))

    def progress(self, case: Case, done: int) -> None:
        """Show the text read."""
        self.bar.update(self.task, description=f"{_name(case)}  {done / 1e6:,.1f} MB")

    def finished(self, result: CaseResult) -> None:
        """Advance; failures stay on the screen."""
        self.bar.advance(self.task)
        if result.status == "failed":
            line = f"failed: {_name(result.case)}: {visible(str(result.reason))}"
            self.bar.console.print(line, markup=False, highlight=False, emoji=False)
