"""The corpus of an adaptation: its pieces as the base splits them, with corpora of different sizes made equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyharness.bpe.adapting.model_pieces import ModelPieces, encoded
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.trainers.adapting.base_file import BaseFile
from pyharness.trainers.adapting.reserved_tokens import Emitted
from pyharness.trainers.feeding import Feed, read_in_batches
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece.piece_rules import PieceRules, read_piece_rules


def counted(feed: Feed, base: BaseFile) -> WeightedPieces:
    """Read the texts of a request and count their pieces.

    Raises:
        InputError: there is no text, or a token occurs in it whose id is to be used again.
    """
    rules, emitted = rules_of(base), Emitted(base.model, feed.request.reuse)
    if not feed.request.balance:
        pieces = ModelPieces(base.model, rules)
        read_in_batches(feed, emitted.checked(pieces.add))
        return pieces.pieces()
    if feed.request.parts is None:
        raise InputError("to balance corpora, there must be several of them")
    parts: list[WeightedPieces] = []
    for texts in feed.request.parts():
        pieces = ModelPieces(base.model, rules)
        before = feed.bytes
        read_in_batches(feed, emitted.checked(pieces.add), texts)
        if feed.bytes == before:
            raise InputError(f"corpus {len(parts) + 1} has no text; it cannot count as much as the others")
        parts.append(pieces.pieces())
    feed.check()
    return joined(balanced(base.model, parts, feed.request.threads))


def balanced(model: BpeModel, parts: list[WeightedPieces], threads: int = 1) -> list[WeightedPieces]:
    """Weigh pieces so that every corpus has as many tokens of the model as the one with most of them.

    Raises:
        InputError: one has none at all.
    """
    masses = [mass(model, pieces, threads) for pieces in parts]
    if 0 in masses:
        raise InputError(
            f"corpus {masses.index(0) + 1} has no text beside added tokens; it cannot count as much as others"
        )
    return [
        dataclasses.replace(pieces, weights=np.rint(pieces.weights * (max(masses) / mass)).astype(np.uint64))
        for pieces, mass in zip(parts, masses, strict=True)
    ]


def mass(model: BpeModel, pieces: WeightedPieces, threads: int = 1) -> int:
    """Tokens of the model in the text that pieces are of, added tokens not counted."""
    tokens = encoded(model, pieces, whole_pieces=model.whole_pieces, threads=threads)
    return int((np.diff(tokens.offsets).astype(np.uint64) * pieces.weights).sum())


def joined(parts: list[WeightedPieces]) -> WeightedPieces:
    """Pieces of several corpora as those of one; equal ones are one."""
    words: dict[bytes, int] = {}
    for pieces in parts:
        text = pieces.data[pieces.data_offsets[:-1]][pieces.symbols].tobytes()
        ends = pieces.offsets.tolist()
        for index, weight in enumerate(pieces.weights.tolist()):
            piece = text[ends[index] : ends[index + 1]]
            words[piece] = words.get(piece, 0) + weight
    return WeightedPieces.of_bytes(words)


def rules_of(base: BaseFile) -> PieceRules | None:
    """What SentencePiece's trainer allows a piece to be, where the base is of its making."""
    if base.kind == "sentencepiece":
        return read_piece_rules(base.data, base.label)
    model: Any = base.model
    if model.symbols != "characters" or "▁".encode() not in model.alphabet:
        return None
    strings = _texts(model)
    return PieceRules(
        digits_alone=not any(sum(map(str.isdigit, text)) > 1 for text in strings),
        whitespace_only=any(len(text) > 1 and not text.strip("▁") for text in strings),
    )


def _texts(model: BpeModel) -> Iterable[str]:
    merges = model.merges
    data, ends = merges.data.tobytes(), merges.offsets.tolist()
    return [data[ends[token] : ends[token + 1]].decode(errors="replace") for token in np.flatnonzero(merges.tested)]
