"""Sentences as a model finds them: SaT ("Segment any Text", Frohmann et al. 2024, arXiv 2406.16678), of wtpsplit.

The library gives sentences as text, without saying whether white space is kept; they are looked for in the text they
are of, and what is between two of them belongs to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyharness.features.segmentation.segmenters.text_bytes import bytes_of_characters
from pyharness.types import Segments

MODEL, THRESHOLD = "sat-6l", 0.01  # of the repository of Large Concept Models


class Splitter(Protocol):
    """What is used of ``wtpsplit.SaT``."""

    def split(self, text: str, *, threshold: float) -> Sequence[str]:
        """Sentences of one text."""
        ...


@dataclass(slots=True)
class SatSentences:
    """Sentences that begin where the model is surer than ``threshold``. Texts that it changes are missing."""

    splitter: Splitter
    threshold: float = THRESHOLD
    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, one after another: the library has threads of its own."""
        del threads
        return Segments.from_lists([self._ends(text) for text in texts])

    def _ends(self, text: str) -> list[int] | None:
        sentences = self.splitter.split(text, threshold=self.threshold) if text else []
        ends = ends_of(text, sentences)
        return None if ends is None else [int(end) for end in bytes_of_characters(text, ends)]


def ends_of(text: str, sentences: Sequence[str]) -> list[int] | None:
    """Places behind units of a text, one for each sentence; None where these are not found in it one after another.

    >>> ends_of("One. Two.\\n", ["One.", "Two."])
    [5, 10]
    """
    starts, place = [], 0
    for sentence in filter(None, sentences):
        start = text.find(sentence, place)
        if start < 0:
            return None
        starts.append(start)
        place = start + len(sentence)
    return [*starts[1:], len(text)] if text else []
