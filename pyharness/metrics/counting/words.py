"""Words: UAX #29 segments with a letter or number."""

from __future__ import annotations

from itertools import pairwise

import regex

from pyharness.kernels import segment_ends

WORD_LIKE = regex.compile(r"[\p{L}\p{N}]")
# Scripts written without spaces, in which UAX #29 cuts characters.
UNSEGMENTED = regex.compile(
    r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]"
)


def segments_of(text: str) -> list[str]:
    """UAX #29 segments of a text, none of them empty; together they are the text.

    >>> segments_of("can't stop\\r\\n3.5")
    ["can't", ' ', 'stop', '\\r\\n', '3.5']
    """
    data = text.encode()
    return [data[start:end].decode() for start, end in pairwise([0, *segment_ends([data]).ends.tolist()])]
