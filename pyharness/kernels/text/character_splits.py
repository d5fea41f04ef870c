"""Characters that a tokenizer cuts into several tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, Offsets, Vocabulary, offsets_of

STARTS_INSIDE = 1  # the token's first byte is a continuation byte, 10xxxxxx
ONLY_CONTINUATION = 2  # all its bytes are
EMPTY = 4


def utf8_flags(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Return how the bytes of every id stand in UTF-8: uint8 [n], bits as above, for :func:`character_splits`.

    >>> from pyharness.types import Vocabulary
    >>> vocabulary = Vocabulary.from_tokens({0: b"a", 1: "é".encode()[:1], 2: "é".encode()[1:], 3: b""}, {})
    >>> utf8_flags(vocabulary).tolist()
    [0, 0, 3, 4]
    """
    starts, lengths = vocabulary.offsets[:-1], np.diff(vocabulary.offsets)
    flags = np.where(lengths == 0, EMPTY, 0).astype(np.uint8)
    present = np.flatnonzero(lengths)
    continuation = (vocabulary.data & 0xC0) == 0x80
    so_far = offsets_of(continuation)
    inside = so_far[vocabulary.offsets[1:]] - so_far[starts]
    flags[present[continuation[starts[present]]]] |= STARTS_INSIDE
    flags[(lengths > 0) & (inside == lengths)] |= ONLY_CONTINUATION
    return flags


def character_splits(ids: Ids, offsets: Offsets, flags: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the code points whose bytes fall in more than one token, each once however many pieces it is in.

    Args:
        ids: uint32 [tokens].
        offsets: int64 [documents + 1].
        flags: uint8 [n] from :func:`utf8_flags`.

    Returns:
        int64 [documents].

    Raises:
        ValueError: an id has no flag, or offsets do not fit.

    Source: docs/metrics.md "Integrity" (``character_split_share``).

    >>> import numpy as np
    >>> flags = np.array([0, 0, STARTS_INSIDE | ONLY_CONTINUATION], np.uint8)  # of "a" and of the two bytes of "é"
    >>> character_splits(np.array([0, 1, 2, 0], np.uint32), np.array([0, 4]), flags).tolist()
    [1]
    """
    return _core.character_splits(ids, offsets, flags)
