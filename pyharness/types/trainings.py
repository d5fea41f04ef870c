"""Rules and progress of a training, and content of the files that it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

DemolitionRule: TypeAlias = Literal["eq6", "shortest"]  # how Scaffold-BPE writes removed tokens
TieRule: TypeAlias = Literal["smallest_ids", "first_seen", "lexicographic", "sentencepiece"]  # of equal counts


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Progress of a training. Unknown values are ``None``."""

    phase: str  # "reading", "counting", "merging", or the library's own name
    done: int
    unit: str  # of done and total: "bytes", "tokens", ...
    total: int | None = None
    seconds_left: float | None = None  # estimate, of this phase

    @property
    def fraction(self) -> float | None:
        """Finished share of the phase, in 0..1; None if the total is unknown."""
        return min(self.done / self.total, 1.0) if self.total else None

    @property
    def in_words(self) -> str:
        """Progress in words.

        >>> TrainingProgress("merging", 12_000, "tokens", 32_000, 3.9).in_words
        'merging: 12,000 of 32,000 tokens (38%), about 4 s left'
        """
        if self.unit == "bytes":
            amount = f"{self.done / 1e6:,.1f} MB" + (f" of {self.total / 1e6:,.1f} MB" if self.total else "")
        else:
            amount = f"{self.done:,}" + (f" of {self.total:,}" if self.total else "") + f" {self.unit}"
        share = "" if self.fraction is None else f" ({self.fraction:.0%})"
        left = "" if self.seconds_left is None else f", about {self.seconds_left:,.0f} s left"
        return f"{self.phase}: {amount}{share}{left}"


@dataclass(frozen=True, slots=True)
class Streamed:
    """Content that is produced while it is written, because it may be larger than memory."""

    size: int  # bytes
    chunks: Callable[[], Iterator[bytes]]  # from the beginning, at each call


FileContent: TypeAlias = bytes | Streamed
