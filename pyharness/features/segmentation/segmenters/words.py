"""Words and what is between them: the segments of UAX #29."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyharness.kernels import segment_ends
from pyharness.types import Segments


@dataclass(slots=True)
class WordUnits:
    """Every segment of UAX #29 is a unit: a word, a space, a mark. Where one ends depends on what follows."""

    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, which threads share."""
        return segment_ends(texts, threads)
