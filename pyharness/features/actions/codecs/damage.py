"""Ids as a policy might emit them: one replaced, one missing, one that is none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyharness.types import Ids


def damaged(ids: Ids, vocab_size: int, seed: bytes) -> Iterator[tuple[str, Ids]]:
    """Each kind of damage once, at a place and with an id drawn by ``seed``; none of no ids.

    >>> [kind for kind, _ in damaged(np.array([3, 4], np.uint32), 10, b"seed")]
    ['replaced', 'deleted', 'unknown']
    """
    if not len(ids):
        return
    draw = np.random.default_rng(list(seed))
    place = int(draw.integers(len(ids)))
    if vocab_size > 1:
        replaced = ids.copy()
        replaced[place] = (int(ids[place]) + int(draw.integers(1, vocab_size))) % vocab_size
        yield "replaced", replaced
    yield "deleted", np.delete(ids, place)
    unknown = ids.copy()
    unknown[place] = vocab_size
    yield "unknown", unknown
