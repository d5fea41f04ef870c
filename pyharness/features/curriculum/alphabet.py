"""Texts to symbols: bytes, or characters that have an id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.special_text import all_joined
from pyharness.features.curriculum.model import CurriculumModel
from pyharness.types import Ids, Offsets, offsets_of

SymbolIds: TypeAlias = NDArray[np.uint8] | NDArray[np.uint32]
CODE_POINTS = 0x110000
_MISSING = np.iinfo(np.uint32).max


class Alphabet:
    """The symbols of a model. Lone halves of surrogate pairs are U+FFFD, as in our other encoders."""

    def __init__(self, model: CurriculumModel) -> None:
        self._table: Ids | None = None
        if model.symbols == "bytes":
            return
        unknown = _MISSING if model.unknown is None else len(model.strings) + len(model.special)
        self._drops = model.unknown is None
        self._table = np.full(CODE_POINTS, unknown, np.uint32)
        self._table[[ord(symbol.decode()) for symbol in model.alphabet]] = np.arange(len(model.alphabet))

    def symbols(self, texts: Sequence[str]) -> tuple[SymbolIds, Offsets]:
        """Symbols of texts (uint8 or uint32 [symbols]), end to end, and their offsets (int64 [texts + 1])."""
        try:
            return self._symbols(texts)
        except UnicodeEncodeError:
            return self._symbols([text if isinstance(text, str) else text.decode() for text in all_joined(texts)])

    def _symbols(self, texts: Sequence[str]) -> tuple[SymbolIds, Offsets]:
        if self._table is None:
            encoded = [text.encode() for text in texts]
            return np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(data) for data in encoded])
        points = code_points(texts)
        offsets, symbols = offsets_of([len(text) for text in texts]), self._table[points]
        if not self._drops:
            return symbols, offsets
        kept = symbols != _MISSING
        return symbols[kept], offsets_of(kept)[offsets]


def code_points(texts: Sequence[str]) -> Ids:
    """Code points of texts, end to end: uint32 [characters].

    Raises:
        UnicodeEncodeError: there is half a surrogate pair.
    """
    return np.frombuffer("".join(texts).encode("utf-32-le"), "<u4").astype(np.uint32, copy=False)
