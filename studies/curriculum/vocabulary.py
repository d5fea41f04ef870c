"""A vocabulary that grows by groups of tokens that a model finds easy, over characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.features.curriculum.tokenizer import FixpointEncoder
from pyharness.types import offsets_of


@dataclass(frozen=True)
class Grown:
    """Strings of tokens, an id each; the characters of all are among them."""

    strings: tuple[str, ...]

    @cached_property
    def _encoder(self) -> FixpointEncoder:
        return FixpointEncoder([string.encode() for string in self.strings])

    @cached_property
    def _characters(self) -> NDArray[np.uint32]:
        """Id of every code point that is a token."""
        ids = {ord(string): token for token, string in enumerate(self.strings) if len(string) == 1}
        table = np.zeros(max(ids) + 1, np.uint32)
        table[list(ids)] = list(ids.values())
        return table

    def encode(self, text: str) -> list[int]:
        """Ids of a text whose characters are all tokens."""
        found: list[int] = self.encode_all([text]).tolist()
        return found

    def encode_all(self, texts: Sequence[str]) -> NDArray[np.uint32]:
        """Ids of texts end to end, none of them across an end."""
        points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        offsets = offsets_of([len(text) for text in texts])
        return self._encoder.encode(self._characters[points], offsets).ids

    def grow(self, found: GroupCounter, size: int) -> Grown:
        """Add all beginnings of groups, most frequent groups first, until there are ``size`` strings."""
        added = expand([string.encode() for string in self.strings], found.first(found.distinct))
        strings = (*self.strings, *(one.string.decode() for one in added))
        return Grown(strings[: max(size, len(self.strings))])
