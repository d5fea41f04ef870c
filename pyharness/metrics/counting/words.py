"""Words: UAX #29 segments with a letter or number. And the position of a token in its word.

The word of a token is the word of its first byte that is in one: `` the`` is at 0 of "the", and so is ``. The``. A
token of several words has its position in the first of them. In the last of them it is at 0 for the tokens that follow.
Tokens without a byte of a word (spaces, punctuation) are outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from pyharness.kernels.text import segment_ends
from pyharness.tokenizers.segmenting import place_tokens
from pyharness.types import Ids, Tokens, Vocabulary

WORD_LIKE = regex.compile(r"[\p{L}\p{N}]")
# Scripts written without spaces, whose words UAX #29 does not find: it cuts between most characters.
UNSEGMENTED = regex.compile(
    r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]"
)
LAST = 3  # this position in the word and all after it
OUTSIDE = 4
PARTS = ("0", "1", "2", "3+", "outside")
Bounds = NDArray[np.int64]


def segments_of(text: str) -> list[str]:
    """Return the UAX #29 segments of a text, none of them empty; together they are the text.

    >>> segments_of("can't stop\\r\\n3.5")
    ["can't", ' ', 'stop', '\\r\\n', '3.5']
    """
    data = text.encode()
    return [data[start:end].decode() for start, end in pairwise([0, *segment_ends([data]).ends.tolist()])]


def words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a text, each with the byte offsets in UTF-8 of its start and stop."""
    offset = 0
    for segment in segments_of(text):
        size = len(segment.encode())
        if WORD_LIKE.search(segment):
            yield segment, offset, offset + size
        offset += size


def word_bounds(text: str) -> tuple[Bounds, Bounds]:
    """Return the byte offsets in UTF-8 at which the words of a text start and stop."""
    bounds = np.array([(start, stop) for _, start, stop in words(text)], np.int64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def token_stops(text: str, ids: Ids, vocabulary: Vocabulary) -> Bounds | None:
    """Return the byte offsets in UTF-8 at which tokens stop, int64 [tokens]; None if they do not spell the text.

    A space that the tokenizer puts before the text (SentencePiece) is not part of its first token.
    """
    stops, leads = place_tokens(Tokens.from_lists([ids]), [text.encode()], vocabulary)
    return None if leads[0] < 0 else np.maximum(stops, 0)


def positions(text: str, ids: Ids, vocabulary: Vocabulary) -> NDArray[np.int64] | None:
    """Return the position of every token in its word, an index of ``PARTS``, int64 [tokens]; None for another spelling.

    >>> from pyharness.tokenizers import load
    >>> row = load("raw_bytes")
    >>> positions("a bcdef!", row.encode_batch(["a bcdef!"]).ids, row.vocabulary()).tolist()
    [0, 4, 0, 1, 2, 3, 3, 4]
    """
    stops = token_stops(text, ids, vocabulary)
    return None if stops is None else places_of(text, stops)


def places_of(text: str, stops: Bounds) -> NDArray[np.int64]:
    """Return the position of every token in its word, from the ends of the tokens."""
    places = np.full(len(stops), OUTSIDE, np.int64)
    word_starts, word_stops = word_bounds(text)
    starts = np.concatenate(([0], stops[:-1])) if len(stops) else stops
    filled = np.flatnonzero(stops > starts)
    starts, stops = starts[filled], stops[filled]
    word = np.searchsorted(word_stops, starts, side="right")  # the first word that ends behind the token's start
    touching = word < len(word_stops)
    touching[touching] = word_starts[word[touching]] < stops[touching]
    holder = np.searchsorted(stops, word_starts[word[touching]], side="right")  # the token where the word starts
    places[filled[touching]] = np.minimum(np.flatnonzero(touching) - holder, LAST)
    return places
