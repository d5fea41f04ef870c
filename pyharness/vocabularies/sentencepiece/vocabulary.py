"""Bytes, kinds and merge order of a SentencePiece model, without the library."""

from __future__ import annotations

import dataclasses

import numpy as np

from pyharness.types import MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.files.bpe_model import character_symbols, symbol_model
from pyharness.vocabularies.sentencepiece.model import PieceType, SentencePieceModel, byte_of

SPACE = "▁"
KINDS = {
    PieceType.NORMAL: TokenKind.NORMAL,
    PieceType.UNKNOWN: TokenKind.UNKNOWN,
    PieceType.CONTROL: TokenKind.SPECIAL,
    PieceType.USER_DEFINED: TokenKind.ADDED,
    PieceType.UNUSED: TokenKind.UNUSED,
    PieceType.BYTE: TokenKind.BYTE_FALLBACK,
}


def vocabulary(model: SentencePieceModel) -> Vocabulary:
    """Pieces with ``▁`` as the space it stands for, and bytes for ``<0xNN>``."""
    kinds = {token: KINDS[kind] for token, kind in enumerate(model.types)}
    return Vocabulary.from_tokens({token: _bytes(model, token) for token in kinds}, kinds)


def _bytes(model: SentencePieceModel, token: int) -> bytes:
    piece = model.pieces[token]
    if model.types[token] is PieceType.BYTE:
        return bytes([byte_of(piece) or 0])
    return piece.replace(SPACE, " ").encode()


def merge_model(model: SentencePieceModel) -> MergeModel:
    """Ranks form of a BPE model: pieces by descending score, equal scores having equal ranks.

    SentencePiece merges strings, and a character that is no piece merges like any other. It has no id, so a piece with
    one cannot be written in base symbols, and is not tested.
    """
    kinds = np.array([KINDS[kind] for kind in model.types], np.uint8)
    _, order = np.unique(-np.array(model.scores, np.float64), return_inverse=True)
    ranks = order.astype(np.uint32)
    single = np.array([len(piece) == 1 for piece in model.pieces])
    merged = (kinds == TokenKind.NORMAL) | (kinds == TokenKind.UNUSED)  # which are taken apart again afterwards
    ranks[~merged | single] = np.iinfo(np.uint32).max
    merges = symbol_model([piece.encode() for piece in model.pieces], _base(model), kinds, ranks=ranks)
    known = set(model.pieces)
    return dataclasses.replace(merges, tested=merges.tested & [known.issuperset(piece) for piece in model.pieces])


def _base(model: SentencePieceModel) -> list[list[int]]:
    ids = {piece: token for token, piece in enumerate(model.pieces)}
    fallback = [ids.get(f"<0x{byte:02X}>", -1) for byte in range(256)] if model.byte_fallback else []
    symbols = character_symbols(ids.get, [] if -1 in fallback else fallback, model.types.index(PieceType.UNKNOWN))
    own = (PieceType.BYTE, PieceType.UNKNOWN, PieceType.CONTROL)  # symbols of their own, not spelled in characters
    return [[token] if model.types[token] in own else symbols(piece) for token, piece in enumerate(model.pieces)]
