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

    >>> import numpy as np
    >>> counts = np.zeros((1, 4), np.uint64)
    >>> token_frequency(np.array([3, 1, 3], np.uint32), np.array([0, 3]), np.zeros(1, np.uint8), counts)
    >>> counts.tolist()
    [[0, 1, 0, 2]]
    """
    _core.token_frequency(ids, offsets, groups, out)
