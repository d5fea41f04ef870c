"""What a gate measures, and how: everything that a launch needs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pyharness.features.gate.measuring.patience import Patience
from pyharness.features.gate.types import ArmProcess, GateBenchmark, GateRules, Side


class FreshText(Protocol):
    """Text that nobody has read yet in this launch."""

    def begin(self, launch: int) -> None:
        """Start anew, for fresh processes."""

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        """Hand out the texts of ``calls`` calls; empty where the benchmark reads none."""

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        """Calls of a batch where so many batches are to have new text; None where the benchmark reads none."""


class Listening(Protocol):
    """Is told how a gate is going."""

    def stage(self, what: str) -> None:
        """Learn what begins: a build, a launch."""

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Learn which benchmark of how many is measured."""


class Silent:
    """Says nothing."""

    def stage(self, what: str) -> None:
        """Say nothing."""

    def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
        """Say nothing."""


Start: TypeAlias = Callable[[Side, int, Sequence[str] | None], ArmProcess]  # side, launch, wanted names (None: all)


@dataclass
class Course:
    """What a gate measures, and how."""

    start: Start
    text: FreshText
    rules: GateRules
    benchmarks: Mapping[str, GateBenchmark]  # declared; what is found in the arms' own tests is added
    listener: Listening = field(default_factory=Silent)
    deadline: float = math.inf  # time.monotonic()
    lot: random.Random = field(default_factory=random.Random)
    extra: Mapping[str, float] = field(default_factory=dict)  # slowdown that is planted in the head, by benchmark
    counting: Start | None = None  # starts processes whose instructions are counted; None: they are not
    patience: Patience = field(default_factory=Patience)  # what answers have taken so far
    counted: bool = False  # this is that launch: a few batches are enough, and their times are no times
