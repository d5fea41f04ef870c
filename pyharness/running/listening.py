"""How a run is followed while it goes on."""

from __future__ import annotations

from typing import Protocol

from pyharness.types import Case, CaseResult, TrainingProgress


class Listener(Protocol):
    """Is told how a run is going: a progress bar, a log, a test."""

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Learn how far the training of a row is that takes place before the run."""
        ...

    def begin(self, total: int) -> None:
        """Learn how many cases there are."""
        ...

    def started(self, case: Case) -> None:
        """Learn that a case begins."""
        ...

    def progress(self, case: Case, done: int) -> None:
        """Learn how many bytes of text a case has read."""
        ...

    def remaining(self, seconds: float) -> None:
        """Learn about how long the rest will take, once a case is finished: as soon as that can be said."""
        ...

    def finished(self, result: CaseResult) -> None:
        """Learn the result of a case."""
        ...
