"""Cutters of one text at a time, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyharness.types import Segments

Cut = Callable[[bytes], "list[int] | None"]  # ends of the units of a text in UTF-8; None: they do not spell it


class Cutter:
    """Cuts every text by itself."""

    def __init__(self, cut: Cut, is_causal: bool = False) -> None:
        self.cut = cut
        self.is_causal = is_causal
        self.seen: list[str] = []

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        self.seen += texts
        return Segments.from_lists([self.cut(text.encode()) for text in texts])


def every(size: int) -> Cut:
    """Units of ``size`` bytes, the last one of what is left."""
    return lambda data: [*range(size, len(data), size), *([len(data)] if data else [])]


def after(mark: bytes) -> Cut:
    """Units that end behind each byte of ``mark``."""
    return lambda data: sorted({place + 1 for place, byte in enumerate(data) if byte in mark} | {len(data)} - {0})


def from_the_end(size: int) -> Cut:
    """Units of ``size`` bytes, the first one of what is left: every one depends on how long the text is."""
    return lambda data: list(range(len(data) % size or size, len(data) + 1, size)) if data else []
