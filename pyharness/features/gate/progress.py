"""Progress of a gate: one line that changes in a terminal, a line for each build and launch in a pipe or a CI log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyharness.report import visible


@contextmanager
def gate_listener() -> Iterator[GateLines]:
    """Pick what suits standard error, for a gate."""
    if not sys.stderr.isatty():
        yield GateLines()
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("") as status:
        yield GateStatus(lambda line: status.update(escape(line)))


class GateLines:
    """A line when something begins: a build, a launch."""

    def stage(self, what: str) -> None:
        """Print it."""
        print(visible(what), file=sys.stderr, flush=True)  # noqa: T201

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Say nothing: a log is no place for progress bars."""


class GateStatus(GateLines):
    """One line that changes."""

    def __init__(self, update: Callable[[str], None]) -> None:
        self.update, self.what = update, ""

    def stage(self, what: str) -> None:
        """Show it."""
        self.what = visible(what).partition(":")[0]
        self.update(self.what)

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Show which benchmark it is."""
        self.update(f"{self.what}: {visible(benchmark)} ({done + 1} of {total})")
