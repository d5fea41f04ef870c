"""Who starts first and who goes first: drawn by lot, and balanced by construction.

The arm that was measured second was slower in 13 of 13 false alarms of one project. A fair coin alone may fall on one
side ten times in twenty; here every two rounds, and every two launches, have each arm first once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from pyharness.features.gate.types import Side


def head_first(generator: random.Random) -> Iterator[bool]:
    """Without end: whether the head goes first; of each two in a row one, and the lot says which.

    >>> from itertools import islice
    >>> drawn = list(islice(head_first(random.Random(3)), 6))
    >>> [drawn[0] + drawn[1], drawn[2] + drawn[3], drawn[4] + drawn[5]]
    [1, 1, 1]
    """
    while True:
        first = generator.random() < 0.5
        yield first
        yield not first


def sides(head_is_first: bool) -> tuple[Side, Side]:
    """Both sides, in turn."""
    return ("head", "base") if head_is_first else ("base", "head")
