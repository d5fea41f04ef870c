"""Noise: a text with typos, with words in capitals or with doubled spaces, each kind apart, seeded by its digest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pyharness.features.segmentation.metrics.prefixes import draws
from pyharness.metrics.counting.words import WORD_LIKE, segments_of
from pyharness.types import Digest

LETTERS_PER_TYPO = 50  # among letters that another one follows
WORDS_PER_CHANGE_OF_CASE = 10
SPACES_PER_DOUBLED = 10


def typos(text: str, seed: Digest) -> str:
    """One in 50 letters before another letter changes places with it, is left out or is doubled, as likely each."""
    drawn = draws(seed, len(text))
    out, copied = [], 0
    for place in np.flatnonzero(drawn % np.uint64(LETTERS_PER_TYPO) == 0).tolist():
        pair = text[place : place + 2]
        if place < copied or len(pair) < 2 or not pair.isalpha():
            continue
        kind = int(drawn[place]) // LETTERS_PER_TYPO % 3
        out += [text[copied:place], (pair[::-1], pair[1], pair[0] + pair)[kind]]
        copied = place + 2
    return "".join((*out, text[copied:]))


def other_case(text: str, seed: Digest) -> str:
    """One in ten words in capitals, or in small letters if it was in capitals."""
    segments = segments_of(text)
    words = [place for place, segment in enumerate(segments) if WORD_LIKE.search(segment)]
    drawn = draws(seed, len(words)) % np.uint64(WORDS_PER_CHANGE_OF_CASE) == 0
    for place in np.array(words, np.int64)[drawn].tolist():
        word = segments[place]
        segments[place] = word.upper() if word != word.upper() else word.lower()
    return "".join(segments)


def doubled_spaces(text: str, seed: Digest) -> str:
    """One in ten spaces twice."""
    first, *others = text.split(" ")
    drawn = draws(seed, len(others)) % np.uint64(SPACES_PER_DOUBLED) == 0
    spaced = (("  " if twice else " ") + part for part, twice in zip(others, drawn.tolist(), strict=True))
    return "".join((first, *spaced))


KINDS: Mapping[str, Callable[[str, Digest], str]] = {
    "typos": typos,
    "case": other_case,
    "spaces": doubled_spaces,
}
