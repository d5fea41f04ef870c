"""Prefix stability: whether what comes later changes the units of what stands before.

A text is cut between two characters. The prefix is stable if the units of the prefix alone start where those of the
whole text start before the cut. So the unit that the cut falls into may be shorter, and nothing else may differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Digest

BYTES_PER_CUT = 256  # a text has one cut for each of these that it begins

Ends = NDArray[np.int64]


def draws(seed: Digest, count: int) -> NDArray[np.uint64]:
    """Random 64-bit integers that a digest decides, the same on every machine and with every version of NumPy."""
    return np.asarray(np.random.PCG64(int.from_bytes(seed, "little")).random_raw(count), np.uint64)


def cuts(text: str, seed: Digest) -> list[int]:
    """Numbers of characters before each cut, ascending and each once; none for a text of one character."""
    if len(text) < 2:
        return []
    drawn = draws(seed, -(-len(text.encode()) // BYTES_PER_CUT))
    return sorted(set((1 + drawn % np.uint64(len(text) - 1)).tolist()))


def is_stable(whole: Ends, prefix: Ends) -> bool:
    """Tell whether units of a prefix start where those of the whole text start before its end."""
    return np.array_equal(prefix[:-1], whole[: np.searchsorted(whole, prefix[-1])])
