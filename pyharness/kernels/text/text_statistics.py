"""Bytes, characters, words and letters of documents: the denominators of compression and fertility."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pyharness import _core


class TextColumn(IntEnum):
    """Columns of :func:`text_statistics`.

    >>> int(text_statistics(["two words"])[0, TextColumn.WORDS])
    2
    """

    BYTES = 0  # of UTF-8
    CHARACTERS = 1  # code points
    WORDS = 2  # UAX #29 word segments that contain a letter or number
    WHITESPACE_WORDS = 3  # len(text.split())
    LETTERS = 4  # code points of general category L, N or M
    UNSEGMENTED = 5  # those of them in Thai, Lao, Khmer, Myanmar, Han, Hiragana, Katakana


def text_statistics(texts: Sequence[str | bytes], threads: int = 1) -> NDArray[np.int64]:
    """Count every document.

    Args:
        texts: documents; ``bytes`` are UTF-8.
        threads: native threads; the result does not depend on it.

    Returns:
        int64 [documents, 6], columns as in :class:`TextColumn`.

    Raises:
        ValueError: a document is not valid UTF-8, or holds a lone surrogate.
        TypeError: ``texts`` is one text, or holds something else than ``str`` and ``bytes``.

    Source: docs/metrics.md "Compression". Word segments are those of ``regex.split(r"(?V1w)\\b", text)``, whose
    four departures from UAX #29 are in docs/metrics.md "Words"; the property tables are that package's.

    >>> text_statistics(["Grüße, Welt!"]).tolist()
    [[14, 12, 2, 2, 9, 0]]
    """
    return _core.text_statistics(texts, threads)
