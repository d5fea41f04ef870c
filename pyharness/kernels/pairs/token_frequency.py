"""How often every id occurs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, Offsets


def token_frequency(ids: Ids, offsets: Offsets, groups: NDArray[np.uint8], out: NDArray[np.uint64]) -> None:
    """Add the occurrences of every id to ``out``, in place.

    Args:
        ids: uint32 [tokens], all documents end to end.
        offsets: int64 [documents + 1].
        groups: uint8 [documents], the row of ``out`` that a document counts in.
        out: uint64 [groups, id_limit], C-contiguous.

    Raises:
        ValueError: an id is not below ``id_limit`` (the message names it), a group has no row, or offsets do not fit.
            Then nothing has been added.
        TypeError: an array has another dtype.
    """
    _core.token_frequency(ids, offsets, groups, out)
