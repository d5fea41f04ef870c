"""Digests of the ids of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, Offsets


class DigestedIds(NamedTuple):
    """What :func:`id_digests` returns.

    >>> import numpy as np
    >>> found = id_digests(np.arange(65, dtype=np.uint32), np.array([0, 65]), np.array([7], np.uint64))
    >>> len(found.blocks), found.bytes  # 64 ids and one
    (2, None)
    """

    total: int  # of all documents, below 2**64: whatever their order
    blocks: NDArray[np.uint32]  # [blocks], of one document after the other
    bytes: NDArray[np.uint32] | None  # [blocks], that the ids of each block stand for


def id_digests(
    ids: Ids, offsets: Offsets, keys: NDArray[np.uint64], token_bytes: NDArray[np.uint16] | None = None
) -> DigestedIds:
    """Digest every document in blocks of 64 ids, the last one of a document shorter, and all of them in one number.

    Args:
        ids: uint32 [tokens], all documents end to end.
        offsets: int64 [documents + 1].
        keys: uint64 [documents], of their texts.
        token_bytes: uint16 [n], bytes of every id; an id that is not below n stands for none.

    Raises:
        ValueError: offsets or keys do not fit, or an array is not C-contiguous.
        TypeError: an array has another dtype.

    Source: docs/measuring.md "Two records as a gate".

    >>> import numpy as np
    >>> keys, sizes = np.array([1, 2], np.uint64), np.array([0, 3, 1], np.uint16)
    >>> one = id_digests(np.array([1, 2, 2], np.uint32), np.array([0, 2, 3]), keys, sizes)
    >>> other = id_digests(np.array([2, 1, 2], np.uint32), np.array([0, 2, 3]), keys, sizes)
    >>> one.total == other.total, (one.blocks == other.blocks).tolist(), one.bytes.tolist()
    (False, [False, True], [4, 1])
    """
    total, blocks, sizes = _core.id_digests(ids, offsets, keys, token_bytes)
    return DigestedIds(total, blocks, None if token_bytes is None else sizes)
