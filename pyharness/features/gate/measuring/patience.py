"""How long an answer is waited for: by what the same took before, on either side. Who is silent for longer may hang."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from pyharness.features.gate.types import LEAST_PATIENCE, ArmFailed, ArmProcess, ArmSilent, Batch, Side

HUNG_TIMES = 50.0  # times as long as the longest answer to the same


@dataclass(frozen=True, slots=True)
class Question:
    """What a side is asked."""

    benchmark: str
    what: Literal["prepare", "time", "result", "finish"]
    batch: Batch | None = None  # where it is asked for time

    @property
    def calls(self) -> int:
        """Calls that it asks for."""
        return 1 if self.batch is None else self.batch.calls


class Gone(Exception):
    """An arm's process failed, in a benchmark or (None) before any; the message says which side and how."""

    def __init__(self, side: Side, reason: str, question: Question | None = None, silent: float = 0.0) -> None:
        super().__init__(f"{side}: {reason}")
        self.side, self.question = side, question
        self.silent = silent  # seconds without an answer, where the gate had time left; 0: it failed otherwise


class Patience:
    """What answers have taken, by benchmark and by what was asked."""

    def __init__(self) -> None:
        self._took: dict[tuple[str, str], float] = {}  # seconds of a call, the longest

    def limit(self, question: Question) -> float:
        """Seconds that an answer may take; infinite where nothing is known of it."""
        took = self._took.get((question.benchmark, question.what), math.inf)
        return max(LEAST_PATIENCE, HUNG_TIMES * took * question.calls)

    @contextmanager
    def asking(self, side: Side, process: ArmProcess, question: Question) -> Iterator[None]:
        """Wait for an answer so long and no longer, and learn from it; raises ``Gone`` where there is none."""
        process.patience = self.limit(question)
        begun = time.monotonic()
        with failing(side, question):
            yield
        process.patience = math.inf
        key, took = (question.benchmark, question.what), (time.monotonic() - begun) / question.calls
        self._took[key] = max(took, self._took.get(key, 0.0))


@contextmanager
def failing(side: Side, question: Question | None = None) -> Iterator[None]:
    """Say of a failure which side it befell, and what that was asked; None: it had yet to begin."""
    begun = time.monotonic()
    try:
        yield
    except ArmSilent as failure:
        raise Gone(side, str(failure), question, time.monotonic() - begun) from None
    except ArmFailed as failure:
        raise Gone(side, str(failure), question) from None
