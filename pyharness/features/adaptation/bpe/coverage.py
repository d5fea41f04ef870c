"""Characters of a corpus without a symbol in a model."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.extension import Extendable
from pyharness.types import InputError

ADVISED = 0.99995  # advised share of a text's characters that have a token; the others are too rare to learn from


@dataclass(frozen=True, slots=True)
class MissingCharacters:
    """Characters of a text without a token in a model."""

    first: tuple[bytes, ...]  # those needed for a coverage, most frequent first
    counts: NDArray[np.uint64]  # [characters]: occurrences of all of them, ``first`` first
    occurrences: int  # of all characters of the text that count, with and without a token
    advised: int  # number of characters needed for a coverage of ``ADVISED``

    @classmethod
    def none(cls) -> MissingCharacters:
        """Return the value for byte-level models, which lack no character."""
        return cls((), np.zeros(0, np.uint64), 0, 0)

    def share(self, spelled: int) -> float:
        """Return the share of the text's characters without a token, after the first ``spelled`` got one."""
        return int(self.counts[spelled:].sum()) / max(self.occurrences, 1)


def missing_characters(
    model: BpeModel,
    pieces: WeightedPieces,
    coverage: float | None = None,
    denies: Callable[[str], bool] | None = None,
) -> MissingCharacters:
    """Find characters without a token, and those of them needed to cover a share of the text.

    The rule is that of SentencePiece's trainer for its alphabet: take characters by frequency, equal ones by code
    point, until they cover the share. Control characters and U+FFFD do not count: the trainer reads text line by line,
    and models have a byte for the end of a line.

    >>> from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel
    >>> kinds = PieceType.UNKNOWN, PieceType.NORMAL
    >>> file = SentencePieceModel(("<unk>", "a"), (0.0, -1.0), kinds, ModelType.BPE)
    >>> model = model_of_sentencepiece(file, "the file")
    >>> pieces = WeightedPieces.of_bytes({"aaéé".encode(): 9, "õ".encode(): 1})
    >>> missing = missing_characters(model, pieces, 0.9)
    >>> [character.decode() for character in missing.first], missing.counts.tolist(), missing.occurrences
    (['é'], [18, 1], 37)

    Args:
        model: the model to extend.
        pieces: pieces of the corpus, over the 256 bytes.
        coverage: the share, above 0 and up to 1. None: no character is requested.
        denies: called for each character that would get a token; one for which it is True gets none.

    Raises:
        InputError: as :func:`check_share`; or the model cannot be extended.

    Source: ``LoadSentences`` of SentencePiece's trainer_interface.cc.
    """
    if coverage is not None:
        check_share(coverage)
    if model.symbols == "bytes" or model.in_letters:
        return MissingCharacters.none()
    points, counts = _characters(pieces)
    order = np.lexsort((points, -counts.astype(np.int64)))
    points, counts = points[order], counts[order]
    before, total = np.cumsum(counts) - counts, int(counts.sum())
    strings = {*model.merges.strings(), *(token.content.encode() for token in model.added)}
    denied = Extendable.of(model).denier(denies) or (lambda _: False)
    characters = [chr(point).encode() for point in points.tolist()]
    lacking = np.array([character not in strings for character in characters], np.bool_)

    def asked(share: float) -> NDArray[np.int64]:
        wanted = np.flatnonzero(lacking & (before < share * total))
        return wanted[[not denied(characters[index]) for index in wanted.tolist()]]

    first = asked(coverage or 0)
    rest = np.setdiff1d(np.flatnonzero(lacking), first)
    return MissingCharacters(
        tuple(characters[index] for index in first.tolist()),
        counts[np.concatenate((first, rest))],
        total,
        len(asked(ADVISED)),
    )


def read_as(model: BpeModel) -> str:
    """Say how the model reads a character without a token."""
    if model.fallback and min(model.fallback) >= 0:
        return "read as bytes"
    otherwise = "left out" if model.unknown is None else "read as unknown"
    return f"read as bytes or {otherwise}" if model.fallback else otherwise


def check_share(coverage: float) -> None:
    """Refuse an invalid share.

    Raises:
        InputError: the share is not above 0 and up to 1.
    """
    if not 0 < coverage <= 1:
        raise InputError(f"a coverage of {coverage:g} is not a share: it must be above 0 and at most 1")


def _characters(pieces: WeightedPieces) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the code points of pieces, ascending, and their counts; without control characters and U+FFFD."""
    data = pieces.data[pieces.data_offsets[:-1]][pieces.symbols].astype(np.uint8)
    starts = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    weights = np.repeat(pieces.weights, np.diff(starts[pieces.offsets]))
    text = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    counts = np.bincount(text, weights.astype(np.float64))  # exact: texts have fewer than 2^53 characters
    points = np.flatnonzero(counts).astype(np.uint32)
    kept = [
        unicodedata.category(character) != "Cc" and character != "\ufffd" for character in map(chr, points.tolist())
    ]
    return points[kept], counts[points[kept]].astype(np.uint64)
