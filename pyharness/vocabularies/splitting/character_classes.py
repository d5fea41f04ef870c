"""Sorts all characters into classes that a split pattern cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pyharness.vocabularies.splitting.expressions import Unexaminable

CODE_POINTS = 0x110000
MOST_LEAVES = 62
_SURROGATES = range(0xD800, 0xE000)


@lru_cache(maxsize=1)
def every_character() -> str:
    """All characters that text can have, in order: surrogates are left out."""
    return "".join(map(chr, chain(range(_SURROGATES.start), range(_SURROGATES.stop, CODE_POINTS))))


@lru_cache(maxsize=128)
def members(leaf: str) -> NDArray[np.bool_]:
    """bool [0x110000]: the characters that an expression of one character matches, by the package ``regex``.

    Raises:
        Unexaminable: it does not compile.
    """
    import regex

    text = every_character()
    found = np.zeros(len(text), np.bool_)
    try:
        # Nested sets and set operations exist only in version 1 of the module's behaviour.
        version = regex.V1 if "&&" in leaf or "[" in leaf[1:] else regex.V0
        for match in regex.finditer(f"(?:{leaf})+", text, version):
            found[match.start() : match.end()] = True
    except regex.error as error:
        raise Unexaminable(f"the set {leaf!r} does not compile: {error}") from None
    gap = np.zeros(len(_SURROGATES), np.bool_)
    return np.concatenate((found[: _SURROGATES.start], gap, found[_SURROGATES.start :]))


class CharacterClasses:
    """The classes that sets of characters tell apart.

    Sets of classes are integers with one bit for each class; bit ``count`` stands for the end of the text.
    """

    def __init__(self, leaves: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(leaves))
        if len(distinct) > MOST_LEAVES:
            raise Unexaminable(f"a split pattern of more than {MOST_LEAVES} sets")
        signature = np.zeros(CODE_POINTS, np.int64)
        for place, leaf in enumerate(distinct):
            signature |= members(leaf).astype(np.int64) << place
        signature[_SURROGATES] = signature[0]
        kinds, self._of = np.unique(signature, return_inverse=True)
        self.count = len(kinds)
        self.end = 1 << self.count
        self.all = 2 * self.end - 1
        self._masks = {
            leaf: sum(1 << place for place, kind in enumerate(kinds.tolist()) if kind >> bit & 1)
            for bit, leaf in enumerate(distinct)
        }

    def mask(self, leaf: str) -> int:
        """Classes of the characters of a set."""
        return self._masks[leaf]

    def word(self, text: str) -> tuple[int, ...]:
        """Class of each character."""
        return tuple(self._of[list(map(ord, text))].tolist()) if text else ()

    def first_members(self, number: int, most: int) -> list[str]:
        """Return the first characters of a class by code point."""
        found = np.flatnonzero(self._of == number)
        return [chr(point) for point in found[: most + len(_SURROGATES)].tolist() if point not in _SURROGATES][:most]
