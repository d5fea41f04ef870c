"""Variants of an extract: its prefixes, and noisy forms. Its digest is the seed.

Prefix stability is whether later text leaves earlier units unchanged. A text is cut between two characters. The prefix
is stable if its own units start at the same places as the whole text's units before the cut. So only the unit at the
cut may be shorter.

Noise is typos, words in capitals or doubled spaces, each kind separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.words import WORD_LIKE, segments_of
from pyharness.types import Digest

Ends = NDArray[np.int64]
BYTES_PER_CUT = 256  # one draw for each begun block of so many bytes
LETTERS_PER_TYPO = 50  # among letters before another letter
WORDS_PER_CHANGE_OF_CASE = 10
SPACES_PER_DOUBLED = 10


def draws(seed: Digest, count: int) -> NDArray[np.uint64]:
    """Draw 64-bit integers seeded by a digest, the same on every machine and with every version of NumPy."""
    return np.asarray(np.random.PCG64(int.from_bytes(seed, "little")).random_raw(count), np.uint64)


def prefix_cuts(text: str, seed: Digest) -> list[int]:
    """Return the number of characters before each cut, ascending and distinct; none below two characters."""
    if len(text) < 2:
        return []
    drawn = draws(seed, -(-len(text.encode()) // BYTES_PER_CUT))
    return sorted(set((1 + drawn % np.uint64(len(text) - 1)).tolist()))


def is_stable(whole: Ends, prefix: Ends) -> bool:
    """Whether a prefix's units start at the same places as the whole text's units before its end."""
    return np.array_equal(prefix[:-1], whole[: np.searchsorted(whole, prefix[-1])])


def typos(text: str, seed: Digest) -> str:
    """Swap, drop or double (with equal probability) one in 50 letters before another letter."""
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
    """Put one in ten words in capitals, or in small letters if it was in capitals."""
    segments = segments_of(text)
    words = [place for place, segment in enumerate(segments) if WORD_LIKE.search(segment)]
    drawn = draws(seed, len(words)) % np.uint64(WORDS_PER_CHANGE_OF_CASE) == 0
    for place in np.array(words, np.int64)[drawn].tolist():
        word = segments[place]
        segments[place] = word.upper() if word != word.upper() else word.lower()
    return "".join(segments)


def doubled_spaces(text: str, seed: Digest) -> str:
    """Double one in ten spaces."""
    first, *others = text.split(" ")
    drawn = draws(seed, len(others)) % np.uint64(SPACES_PER_DOUBLED) == 0
    spaced = (("  " if twice else " ") + part for part, twice in zip(others, drawn.tolist(), strict=True))
    return "".join((first, *spaced))


NOISE: Mapping[str, Callable[[str, Digest], str]] = {
    "typos": typos,
    "case": other_case,
    "spaces": doubled_spaces,
}
