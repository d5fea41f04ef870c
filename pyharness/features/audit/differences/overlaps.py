"""What vocabularies hold, and what they share: leading spaces, scripts, and the overlap of each pair of rows.

Tokens are compared as ``pyharness diff`` does. Use is the number of times that an id occurs in a text.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import batches, keyed
from pyharness.features.audit.differences.changes import Overlap, id_map
from pyharness.features.audit.differences.sides import Side
from pyharness.types import Tally
from pyharness.vocabularies.patterns.code_points import script_of

PART, MIXED, NO_LETTER = "part of a character", "several scripts", "no letter"
_CHARACTERS = 1 << 20  # of a batch


@dataclass(slots=True)
class VocabularyContent:
    """A row, the use of its ids in the texts, and what its tokens are made of."""

    side: Side
    use: NDArray[np.int64]  # [ids]
    kinds: Mapping[int, str]  # the script of each token, or what it has in place of one
    spaced: frozenset[int]  # ids of tokens that begin with a space

    @classmethod
    def of(cls, side: Side) -> VocabularyContent:
        """Classify the tokens of a row, before any text is read."""
        tokens = side.definition.by_bytes
        kinds = {token: class_of(string) for (string, _), token in tokens.items()}
        spaced = frozenset(token for (string, _), token in tokens.items() if string.startswith(b" "))
        return cls(side, np.zeros(side.tokenizer.id_limit, np.int64), kinds, spaced)

    @property
    def used(self) -> int:
        """Number of tokens of the texts."""
        return int(self.use.sum())

    @property
    def scripts(self) -> Mapping[str, tuple[int, int]]:
        """Tokens of each script and their use, most tokens first."""
        tokens, uses = Counter(self.kinds.values()), Counter[str]()
        for token in np.flatnonzero(self.use).tolist():
            uses[self.kinds[token]] += int(self.use[token])
        return {name: (count, uses[name]) for name, count in tokens.most_common()}

    @property
    def with_space(self) -> tuple[int, int]:
        """Tokens that begin with a space, and their use."""
        return len(self.spaced), int(self.use[[token for token in self.spaced if token < len(self.use)]].sum())


@dataclass(frozen=True, slots=True)
class PairOverlap:
    """Tokens that a row shares with another; ``used`` is the share of its use that they have, None without texts."""

    tokens: Overlap
    used: float | None

    @property
    def share(self) -> float:
        """Tokens of both, divided by those of the first."""
        return self.tokens.both / max(self.tokens.first, 1)


def contents(sides: Sequence[Side], corpora: Sequence[str] = (), threads: int = 1) -> list[VocabularyContent]:
    """Classify the tokens of rows, and count their use in texts.

    Raises:
        InputError: a corpus cannot be read, or a library fails on a text.
    """
    rows = [VocabularyContent.of(side) for side in sides]
    for name in corpora:
        texts = (piece.text for piece in keyed(open_corpus(name), Tally()))
        for batch in batches(texts, size=_CHARACTERS, size_of=len):
            for row in rows:
                ids = row.side.encode(batch, threads=threads).ids
                row.use += np.bincount(ids, minlength=len(row.use))
    return rows


def pair_overlap(one: VocabularyContent, other: VocabularyContent) -> PairOverlap:
    """Return what a row shares with another."""
    ids = id_map(one.side.definition, other.side.definition)
    return PairOverlap(ids.overlap, ids.used_share(one.use) if one.use.any() else None)


def class_of(string: bytes) -> str:
    """Return the script of a token's letters and marks, or what it is without one.

    >>> [class_of(text.encode()) for text in (" naïve", "кот", "кaт", " 12", "日本の")]
    ['Latin', 'Cyrillic', 'several scripts', 'no letter', 'several scripts']
    >>> class_of("é".encode()[:1])
    'part of a character'
    """
    try:
        text = string.decode()
    except UnicodeDecodeError:
        return PART
    scripts = {script_of(letter) for letter in text if unicodedata.category(letter)[0] in "LM"} - {""}
    return MIXED if len(scripts) > 1 else next(iter(scripts), NO_LETTER)
