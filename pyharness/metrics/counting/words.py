"""Words: UAX #29 segments with a letter or number."""

from __future__ import annotations

import regex

from pyharness.segmenters.words import SEGMENT

__all__ = ["SEGMENT", "UNSEGMENTED", "WORD_LIKE"]

WORD_LIKE = regex.compile(r"[\p{L}\p{N}]")
# Scripts written without spaces, in which UAX #29 cuts characters.
UNSEGMENTED = regex.compile(
    r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]"
)
