"""How far a training is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is. What is not known is ``None``."""

    phase: str  # "reading", "counting", "merging", or what the library calls it
    done: int
    unit: str  # of done and total: "bytes", "tokens", ...
    total: int | None = None
    seconds_left: float | None = None  # estimate, of this phase

    @property
    def fraction(self) -> float | None:
        """Share of the phase that is done, in 0..1."""
        return min(self.done / self.total, 1.0) if self.total else None
