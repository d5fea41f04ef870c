"""Unused pieces of SentencePiece models: they merge, and are split again when ids are written.

SentencePiece splits a piece into the two symbols that it saw last before a merge made the piece. The inside of a piece
does not depend on its neighbours, as long as no merge crosses its borders; while the two symbols exist, no merge has.
So there is one such pair: the last one when the piece is encoded alone. An unused character is an unknown one.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import ModelVerdict, self_tokenization
from pyharness.types import Ids, Offsets, TokenKind, offsets_of

_NEVER = np.iinfo(np.uint32).max


def merging_unused(model: BpeModel) -> NDArray[np.bool_]:
    """Return the unused tokens that merges give: bool [n]."""
    unused: NDArray[np.bool_] = model.vocabulary.kinds == TokenKind.UNUSED
    if model.merges.ranks is None or model.expansion is not None:
        return np.zeros(len(unused), np.bool_)
    merged: NDArray[np.bool_] = unused & (model.merges.ranks != _NEVER)
    return merged


def expansion_of_unused(model: BpeModel) -> tuple[Ids, Offsets] | None:
    """Return the output of each id: ids uint32 [total] and offsets int64 [n + 1]; None: the id itself.

    Source: ``resegment`` in sentencepiece ``src/bpe_model.cc``.
    """
    merges, unused = model.merges, merging_unused(model)
    if not unused.any():
        return None
    parts = _parts(model, unused)
    written = {
        token: _unknown(model, token)
        for token in np.flatnonzero((model.vocabulary.kinds == TokenKind.UNUSED) & ~unused).tolist()
    }
    lengths = np.diff(merges.base_offsets)
    for token in sorted(np.flatnonzero(unused).tolist(), key=lengths.__getitem__):  # parts before their wholes
        output = [number for part in parts[token] for number in written.get(part, [part])]
        if model.fuse_unknown:
            twice = (model.unknown, model.unknown)
            output = [number for at, number in enumerate(output) if at == 0 or (number, output[at - 1]) != twice]
        written[token] = output
    ids = [written.get(token, [token]) for token in range(len(merges.tested))]
    return np.array([number for group in ids for number in group], np.uint32), offsets_of(list(map(len, ids)))


def _unknown(model: BpeModel, token: int) -> list[int]:
    """Return the output for a character without a token."""
    data = model.merges[token]
    if model.fallback and all(model.fallback[byte] >= 0 for byte in data):
        return [model.fallback[byte] for byte in data]
    return [] if model.unknown is None else [model.unknown]


def _parts(model: BpeModel, unused: NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return the parts of each unused piece: those of the merge that makes it alone, or what it gives alone instead."""
    tested = self_tokenization(dataclasses.replace(model.merges, tested=unused))
    failed = {int(token): tested.witnesses.document(row).tolist() for row, token in enumerate(tested.failed)}
    reached = np.flatnonzero(tested.verdict == ModelVerdict.REACHABLE).tolist()
    return failed | {token: tested.parts[token].tolist() for token in reached}
