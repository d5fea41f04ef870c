"""Progress of a run or a training: a bar in a terminal, lines in a pipe or a CI log. Always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyharness.commands.session import SilentListener
from pyharness.report import case_in_words, visible
from pyharness.running.progress import CaseStopwatch, in_words
from pyharness.types import Case, CaseResult, TrainingProgress

if TYPE_CHECKING:
    from rich.progress import Progress

    from pyharness.running.progress import Listener


@contextmanager
def listener(quiet: bool) -> Iterator[Listener]:
    """Pick the progress display that suits standard error, or a silent one."""
    if quiet:
        yield SilentListener()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        description = TextColumn("{task.description}", markup=False)  # brackets in a name are not markup
        columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), description)
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bar(progress)


def _name(case: Case) -> str:
    return visible(case_in_words(case))


class Lines:
    """Progress as lines: of rows in training, then one per finished case."""

    INTERVAL = 30.0  # seconds between two estimates of the remaining time

    def __init__(self) -> None:
        self.row, self.training = "", TrainingLines()

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Print a line at a new row or phase, or ten seconds after the last line."""
        if row != self.row:
            self.row, self.training = row, TrainingLines(f"preparing {visible(row)}: ")
        self.training(progress)

    def begin(self, total: int) -> None:
        """Store the number of cases."""
        self.total, self.done = total, 0
        self.watch, self.left, self.said = CaseStopwatch(), "", float("-inf")

    def started(self, case: Case) -> None:
        """Start the clock of the case."""
        self.watch.started(case)

    def progress(self, case: Case, done: int) -> None:
        """Print nothing: a log is no place for progress bars."""

    def remaining(self, seconds: float) -> None:
        """Add the remaining time to the next line, at most every 30 seconds."""
        now = time.monotonic()
        if now - self.said >= self.INTERVAL:
            self.left, self.said = f"  (about {in_words(seconds)} left)", now

    def finished(self, result: CaseResult) -> None:
        """Print the line of a case, with the reason if it failed or was skipped."""
        self.done += 1
        seconds = self.watch.finished(result.case)
        ending = "" if result.status == "ok" else f"  {result.status}: {result.reason}"
        ending, self.left = ending + self.left, ""
        line = f"[{self.done:>3}/{self.total}] {seconds:6.1f} s  {_name(result.case)}{visible(ending)}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201


class Bar:
    """A progress bar with the running case and the text it has read."""

    def __init__(self, progress: Progress) -> None:
        self.bar, self.left = progress, ""
        self.task = progress.add_task("", total=None)

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Show the row in training; the bar is in percent."""
        share = progress.fraction
        self.bar.tasks[0].total = None if share is None else 100  # update() ignores None
        description = f"{progress.in_words}  {visible(row)}"  # a terminal cuts the end off, and names are long
        self.bar.update(self.task, description=description, completed=round(100 * (share or 0)))

    def begin(self, total: int) -> None:
        """Set the length of the bar, and begin it again."""
        self.bar.reset(self.task, total=total, description="")

    def started(self, case: Case) -> None:
        """Name the case."""
        self.bar.update(self.task, description=self.left + _name(case))

    def progress(self, case: Case, done: int) -> None:
        """Show the text read."""
        self.bar.update(self.task, description=f"{self.left}{_name(case)}  {done / 1e6:,.1f} MB")

    def remaining(self, seconds: float) -> None:
        """Show the remaining time before the name, whose end a narrow terminal cuts off."""
        self.left = f"about {in_words(seconds)} left  "

    def finished(self, result: CaseResult) -> None:
        """Advance the bar; keep failures on the screen."""
        self.bar.advance(self.task)
        if result.status == "failed":
            line = f"failed: {_name(result.case)}: {visible(str(result.reason))}"
            self.bar.console.print(line, markup=False, highlight=False, emoji=False)


@contextmanager
def training_listener(quiet: bool) -> Iterator[Callable[[TrainingProgress], None]]:
    """Pick the progress display for a training. It is never ``None``: the callback lets Ctrl-C through."""
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield TrainingLines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(20), TimeElapsedColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True) as progress:
            console.show_cursor(True)  # Ctrl-C may end a library before it restores the cursor
            yield TrainingBar(progress)


class TrainingLines:
    """Progress as lines: at the beginning of a phase, and every ten seconds."""

    INTERVAL = 10.0  # seconds

    def __init__(self, beginning: str = "") -> None:
        self.beginning, self.phase, self.said = beginning, "", 0.0

    def __call__(self, progress: TrainingProgress) -> None:
        """Print a line at a new phase, or ten seconds after the last line."""
        now = time.monotonic()
        if progress.phase != self.phase or now - self.said >= self.INTERVAL:
            self.phase, self.said = progress.phase, now
            print(self.beginning + progress.in_words, file=sys.stderr, flush=True)  # noqa: T201


class TrainingBar:
    """A progress bar for the running phase; it pulses while the total is unknown."""

    def __init__(self, progress: Progress) -> None:
        self.bar = progress
        self.task = progress.add_task("starting", total=None)

    def __call__(self, progress: TrainingProgress) -> None:
        """Draw the bar."""
        self.bar.tasks[0].total = progress.total  # update() would not take None
        self.bar.update(self.task, description=progress.in_words, completed=progress.done)
