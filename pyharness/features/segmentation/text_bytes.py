"""Texts as concatenated bytes, and positions of units in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Offsets, Segments, offsets_of

Bytes = NDArray[np.uint8]


def laid_out(texts: Sequence[str]) -> tuple[Bytes, Offsets]:
    """Return the concatenated UTF-8 of texts (uint8), and their offsets (int64 [texts + 1])."""
    encoded = [text.encode() for text in texts]
    return np.frombuffer(b"".join(encoded), np.uint8), offsets_of(list(map(len, encoded)))


def continues_character(data: Bytes) -> NDArray[np.bool_]:
    """Return which bytes of UTF-8 are continuations."""
    return np.asarray(data & 0xC0 == 0x80, np.bool_)


def segments_of_starts(starts: NDArray[np.bool_], texts: Offsets) -> Segments:
    """Return units by their starts.

    Args:
        starts: bool [bytes], whether a unit starts with this byte; overwritten at the beginnings of texts.
        texts: offsets of the texts, int64 [texts + 1].
    """
    if not len(starts):
        return Segments.of_places(np.zeros(0, np.int64), texts)
    starts[texts[:-1][np.diff(texts) > 0]] = True
    places = np.flatnonzero(starts)
    return Segments.of_places(np.append(places[1:], len(starts)), texts)


def bytes_of_characters(text: str, places: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert positions in characters to positions in UTF-8 bytes."""
    places = np.asarray(places, np.int64)
    if text.isascii():
        return places
    data = np.frombuffer(text.encode(), np.uint8)
    return np.append(np.flatnonzero(~continues_character(data)), len(data))[places]
