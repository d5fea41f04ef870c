"""Patches of bytes that need no model: of a fixed size, and after spaces (BLT, arXiv 2412.09871, section 2).

>>> SpacePatches("repo").segment_batch(["Hi, you."]).ends.tolist()
[1, 3, 8]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation.segmenters.text_bytes import laid_out, segments_of_starts
from pyharness.types import Segments, offsets_of


def _space_like() -> NDArray[np.bool_]:
    """Which bytes are neither Latin letter nor digit nor the continuation of a character."""
    like = np.ones(256, np.bool_)
    for first, last in (b"09", b"AZ", b"az", b"\x80\xbf"):
        like[first : last + 1] = False
    return like


SPACE_LIKE = _space_like()


@dataclass(slots=True)
class StaticPatches:
    """Patches of ``size`` bytes; the last one of a text has what is left."""

    size: int
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents. One thread is enough: the text is not read."""
        del threads
        sizes = np.array([len(text.encode()) for text in texts], np.int64)
        offsets = offsets_of(-(-sizes // self.size))
        counts = np.diff(offsets)
        numbers = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        ends = np.minimum((numbers + 1) * self.size, np.repeat(sizes, counts))
        return Segments(ends, offsets, np.zeros(len(sizes), np.bool_))


@dataclass(slots=True)
class SpacePatches:
    """A patch ends behind the first byte of each run of space-like bytes.

    Space-like is what is neither Latin letter nor digit nor the continuation of a character, so the first byte of each
    character outside ASCII is. ``reading`` is that of the "paper" or of the authors' repository, "repo", where a patch
    also starts at byte 1, as the first byte stands in for the mark of the beginning.
    """

    reading: str = "repo"
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents. One thread is enough: this runs at the speed of memory."""
        del threads
        data, offsets = laid_out(texts)
        like = SPACE_LIKE[data]
        firsts = offsets[:-1][np.diff(offsets) > 0]
        behind = like.copy()  # whether a patch ends behind this byte
        behind[1:] &= ~like[:-1]
        behind[firsts] = like[firsts]
        if self.reading == "repo":
            behind[firsts] = True
        starts = np.zeros(len(data), np.bool_)
        starts[1:] = behind[:-1]
        return segments_of_starts(starts, offsets)
