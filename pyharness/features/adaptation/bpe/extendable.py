"""What a model's merges may take and make when its training goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.analysis.self_tokenization import NEVER, remembered_self_tokenization, self_tokenization
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.model_pieces import MARK, check_extendable
from pyharness.types import Ids, MergeModel, Offsets, TokenKind, offsets_of

_MERGED = (TokenKind.NORMAL, TokenKind.UNUSED)  # of all others, no new rule takes or makes any


@dataclasses.dataclass(frozen=True, slots=True)
class Extendable:
    """Strings of the ids that merges may take and make; other ids have none: string ``t`` is ``data[offsets[t]:...]``.

    ``reserved``: strings of those others, which no rule may make.
    """

    data: NDArray[np.uint8]
    offsets: Offsets  # int64 [ids + 1]
    unreachable: Ids  # ranks form: tokens that merging their own symbols does not give
    reserved: frozenset[bytes]
    marked: bool  # whether the mark of SentencePiece stands for a space

    @classmethod
    def of(cls, model: BpeModel, threads: int = 1) -> Extendable:
        """Look at a model.

        Raises:
            InputError: it cannot be extended.
        """
        check_extendable(model)
        merges = model.merges
        lengths = np.diff(merges.offsets)
        usable = np.isin(model.vocabulary.kinds, _MERGED) & (lengths > 0)
        if merges.ranks is not None:
            usable &= merges.atomic | (merges.ranks != NEVER)
        others = np.flatnonzero(~usable & (lengths > 0))
        strings = {merges[token] for token in others.tolist()}
        kept = merges.data[np.repeat(usable, lengths)]
        space = model.alphabet.get(MARK.encode())
        return cls(
            kept,
            offsets_of(np.where(usable, lengths, 0)),
            _unreachable(merges, threads),
            frozenset(strings | {token.content.encode() for token in model.added}),
            marked=space is not None and model.vocabulary[space] == b" ",
        )

    @property
    def characters(self) -> set[str]:
        """All characters of the strings."""
        return set(self.data.tobytes().decode(errors="replace"))

    def denier(self, denies: Callable[[str], bool] | None) -> Callable[[bytes], bool] | None:
        """Function that says whether a string must not be made, for reasons of its text too."""
        if denies is None:
            return self.reserved.__contains__ if self.reserved else None

        def denied(string: bytes) -> bool:
            text = string.decode(errors="replace")
            return string in self.reserved or denies(text.replace(MARK, " ") if self.marked else text)

        return denied


def _unreachable(merges: MergeModel, threads: int) -> Ids:
    if merges.ranks is None:
        return np.zeros(0, np.uint32)
    tested = merges.tested | (merges.ranks != NEVER)
    if np.array_equal(tested, merges.tested):
        return remembered_self_tokenization(merges, threads).failed.astype(np.uint32)
    return self_tokenization(dataclasses.replace(merges, tested=tested), threads).failed.astype(np.uint32)
