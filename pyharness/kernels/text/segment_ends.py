"""Segments of UAX #29: words, and what is between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyharness import _core
from pyharness.types import Segments


def segment_ends(texts: Sequence[str | bytes], threads: int = 1) -> Segments:
    """Cut documents at every word boundary of UAX #29.

    Args:
        texts: documents; ``bytes`` are UTF-8.
        threads: native threads, which share the documents; the result does not depend on them.

    Returns:
        Where the segments of each document end, in bytes of its UTF-8; none is missing.

    Raises:
        ValueError: a document is not valid UTF-8, or holds a lone surrogate.
        TypeError: ``texts`` is one text, or holds something else than ``str`` and ``bytes``.

    Source: the boundaries are those of ``(?V1w)\\b`` in the package ``regex``; see :func:`text_statistics`.

    >>> segment_ends(["Grüße, Welt!"]).ends.tolist()
    [7, 8, 9, 13, 14]
    """
    ends, offsets = _core.segment_ends(texts, threads)
    return Segments(ends, offsets, np.zeros(len(offsets) - 1, np.bool_))
