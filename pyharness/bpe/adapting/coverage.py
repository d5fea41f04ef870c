"""Characters of a corpus that a model has no symbol for."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.adapting.extendable import Extendable
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.types import InputError


def missing_characters(
    model: BpeModel, pieces: WeightedPieces, coverage: float, denies: Callable[[str], bool] | None = None
) -> tuple[bytes, ...]:
    """Characters without a token, the most frequent first, among those that make up a share of the text.

    As SentencePiece's trainer finds its alphabet: characters are taken by how often they occur, equal ones by their
    code points, until they are the share. Control characters and U+FFFD do not count: it reads text line by line, and
    what models have for the end of a line is a byte.

    >>> from pyharness.vocabularies.sentencepiece.model import ModelType, PieceType, SentencePieceModel
    >>> kinds = PieceType.UNKNOWN, PieceType.NORMAL
    >>> file = SentencePieceModel(("<unk>", "a"), (0.0, -1.0), kinds, ModelType.BPE)
    >>> model = model_of_sentencepiece(file, "the file")
    >>> pieces = WeightedPieces.of_bytes({"aaéé".encode(): 9, "õ".encode(): 1})
    >>> [character.decode() for character in missing_characters(model, pieces, 0.9)]
    ['é']

    Args:
        model: what is extended.
        pieces: of the corpus, over the 256 bytes.
        coverage: the share, above 0 and up to 1.
        denies: asked about each character; no token is made of one for which it is True.

    Raises:
        InputError: as :func:`check_coverage`.

    Source: ``LoadSentences`` of SentencePiece's trainer_interface.cc.
    """
    check_coverage(model, coverage)
    points, counts = _characters(pieces)
    order = np.lexsort((points, -counts.astype(np.int64)))
    before = np.cumsum(counts[order]) - counts[order]
    wanted = order[before < coverage * int(counts.sum())]
    known = {*model.merges.strings(), *(token.content.encode() for token in model.added)}
    denied = Extendable.of(model).denier(denies) or (lambda _: False)
    found = (chr(point).encode() for point in points[wanted].tolist())
    return tuple(character for character in found if character not in known and not denied(character))


def check_coverage(model: BpeModel, coverage: float) -> None:
    """Refuse what no text can mend.

    Raises:
        InputError: the share is none, or the symbols of the model are bytes, so that it has all characters.
    """
    check_share(coverage)
    if model.symbols == "bytes" or model.in_letters:
        raise InputError("the symbols of this model are bytes, which cover all characters: leave the coverage out")


def check_share(coverage: float) -> None:
    """Refuse what is no share.

    Raises:
        InputError: it is not above 0 and up to 1.
    """
    if not 0 < coverage <= 1:
        raise InputError(f"a coverage of {coverage:g} is no share of the characters: it is above 0 and at most 1")


def _characters(pieces: WeightedPieces) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Code points that occur, rising, and how often."""
    data = pieces.data[pieces.data_offsets[:-1]][pieces.symbols].astype(np.uint8)
    starts = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    weights = np.repeat(pieces.weights, np.diff(starts[pieces.offsets]))
    text = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    points, where = np.unique(text, return_inverse=True)
    counts = np.zeros(len(points), np.uint64)
    np.add.at(counts, where, weights)
    kept = [
        unicodedata.category(character) != "Cc" and character != "\ufffd" for character in map(chr, points.tolist())
    ]
    return points[kept], counts[kept]
