"""Progress of a run in a notebook: a line that changes, and a permanent line for each failure.

It updates one output of IPython, so every notebook shows it and keeps its last state. Bars of rich and tqdm are widgets
in notebooks: they need ipywidgets, and a saved notebook does not show them.
"""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyharness.report import case_in_words, visible
from pyharness.running.progress import in_words
from pyharness.types import Case, CaseResult, TrainingProgress, counted

if TYPE_CHECKING:
    from pyharness.running.progress import Listener

INTERVAL = 0.2  # seconds between two drawings: each is a message to the browser


def line() -> ProgressLine | None:
    """Return a listener that shows a line in this notebook; None outside notebooks."""
    ipython: Any = sys.modules.get("IPython")  # any program in a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else ProgressLine()


@contextmanager
def shown(listener: Listener | None) -> Iterator[Listener | None]:
    """Yield the given listener; without one, a line in this notebook, or None outside notebooks."""
    own_line = line() if listener is None else None
    try:
        yield own_line or listener
    finally:
        if own_line is not None:
            own_line.ended()


class ProgressLine:
    """A bar with the current case and the text it has read; at the end, the cases and the time since it was made."""

    def __init__(self) -> None:
        self.done, self.total, self.left = 0, 0, ""
        self.failures: list[str] = []
        self.begun = time.monotonic()
        self.handle: Any = None  # of the output that is updated
        self.drawn = 0.0

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Show the row that is trained."""
        self._draw(f"{progress.in_words}  {row}", _bar(progress.fraction))

    def begin(self, total: int) -> None:
        """Set the length."""
        self.total = total

    def started(self, case: Case) -> None:
        """Name the case."""
        self._draw_case(case)

    def progress(self, case: Case, done: int) -> None:
        """Show the text read."""
        self._draw_case(case, f"  {done / 1e6:,.1f} MB")

    def remaining(self, seconds: float) -> None:
        """Show the time left next to the count."""
        self.left = f" (about {in_words(seconds)} left)"

    def finished(self, result: CaseResult) -> None:
        """Advance; keep a failure on the page."""
        self.done += 1
        if result.status == "failed":
            self.failures.append(f"failed: {case_in_words(result.case)}: {result.reason}")

    def ended(self) -> None:
        """Report how many cases are finished, and the seconds since this line was made, with trainings."""
        if self.handle is not None:
            came = "" if self.done == self.total else f"{self.done} of "
            self._draw(f"{came}{counted(self.total, 'case')} in {time.monotonic() - self.begun:,.0f} s", at_once=True)

    def _draw_case(self, case: Case, ending: str = "") -> None:
        share = self.done / self.total if self.total else None
        self._draw(f"{self.done}/{self.total}{self.left}  {case_in_words(case)}{ending}", _bar(share))

    def _draw(self, text: str, bar: str = "", *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self.handle is not None and not at_once and now - self.drawn < INTERVAL:
            return
        self.drawn = now
        lines = [visible(one) for one in (text, *self.failures)]
        written = {"text/plain": "\n".join(lines), "text/html": bar + "<br>".join(map(html.escape, lines))}
        if self.handle is None:
            display: Any = importlib.import_module("IPython.display").display  # it has no types
            self.handle = display(written, raw=True, display_id=True)
        else:
            self.handle.update(written, raw=True)


def _bar(share: float | None) -> str:
    """Return an HTML progress bar; it swings if the end is unknown."""
    return "<progress></progress> " if share is None else f'<progress value="{share:.3f}"></progress> '
