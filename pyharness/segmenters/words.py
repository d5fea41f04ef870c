"""Words and what is between them: the segments of UAX #29."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from pyharness.segmenters.text_bytes import bytes_of_characters
from pyharness.types import Segments

SEGMENT = regex.compile(r"(?V1w)\b")


@dataclass(slots=True)
class WordUnits:
    """Every segment of UAX #29 is a unit: a word, a space, a mark. Where one ends depends on what follows."""

    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, on one thread."""
        del threads
        places = ([found.end() for found in SEGMENT.finditer(text)][1:] for text in texts)  # the first is at 0
        return Segments.from_arrays([bytes_of_characters(*one) for one in zip(texts, places, strict=True)])
