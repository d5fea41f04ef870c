"""The corpus of an adaptation: pieces by the base's split, with balanced corpora of different sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, encoded
from pyharness.features.adaptation.bpe.piece_rules import PieceRules, read_piece_rules
from pyharness.features.adaptation.trainers.base_file import BaseFile
from pyharness.features.adaptation.trainers.reserved_tokens import Emitted
from pyharness.features.training.trainers.feeding import Feed, read_in_batches
from pyharness.types import InputError

Add: TypeAlias = Callable[[list[str], int], None]
Counts: TypeAlias = NDArray[np.uint64]


class _CorpusCounter(Protocol):
    def add(self, texts: list[str], threads: int = 1) -> None: ...


Counter = TypeVar("Counter", bound=_CorpusCounter)


def counted(feed: Feed, base: BaseFile) -> WeightedPieces:
    """Read the texts of a request and count their pieces.

    Raises:
        InputError: as :func:`each_corpus` and :func:`balance`; or the text contains a token whose id will be reused.
    """
    rules, emitted = rules_of(base), Emitted(base.model, getattr(feed.request.options, "reuse", None))
    parts = [one.pieces() for one in each_corpus(feed, lambda: ModelPieces(base.model, rules), emitted.checked)]
    return joined(parts, balance(base.model, parts, feed.request.threads)) if feed.request.options.balance else parts[0]


def each_corpus(
    feed: Feed, new: Callable[[], Counter], checked: Callable[[Add], Add] = lambda add: add
) -> list[Counter]:
    """Read the texts of a request into a counter, or into one for each of several balanced corpora.

    Args:
        feed: feed of the request.
        new: makes a counter.
        checked: wraps the counter's ``add`` with a check.

    Raises:
        InputError: there is no text, a balanced corpus has none, or there are no corpora to balance.
    """
    if not feed.request.options.balance:
        counter = new()
        read_in_batches(feed, checked(counter.add))
        return [counter]
    if feed.request.parts is None:
        raise InputError("to balance corpora, there must be several of them")
    counters: list[Counter] = []
    for texts in feed.request.parts():
        counters.append(new())
        before = feed.bytes
        read_in_batches(feed, checked(counters[-1].add), texts)
        if feed.bytes == before:
            raise InputError(f"corpus {len(counters)} has no text; it cannot count as much as the others")
    feed.check()
    return counters


def balance(model: BpeModel, parts: list[WeightedPieces], threads: int = 1) -> list[float]:
    """Return the factor of each corpus that gives it as many tokens as the largest.

    Raises:
        InputError: a corpus has no tokens.
    """
    masses = [mass(model, pieces, threads) for pieces in parts]
    if 0 in masses:
        raise InputError(f"corpus {masses.index(0) + 1} has only added tokens; it cannot count as much as others")
    return [max(masses) / mass for mass in masses]


def scaled(counts: Counts, factor: float) -> Counts:
    """Multiply counts, and round to whole numbers."""
    return np.asarray(np.rint(counts * factor), np.uint64)


def mass(model: BpeModel, pieces: WeightedPieces, threads: int = 1) -> int:
    """Count the model's tokens in the text of the pieces, without added tokens."""
    tokens = encoded(model, pieces, whole_pieces=model.whole_pieces, threads=threads)
    return int((np.diff(tokens.offsets).astype(np.uint64) * pieces.weights).sum())


def joined(parts: list[WeightedPieces], factors: list[float]) -> WeightedPieces:
    """Join the pieces of several corpora, each times its factor; merge equal ones."""
    words: dict[bytes, int] = {}
    for pieces, factor in zip(parts, factors, strict=True):
        text = pieces.data[pieces.data_offsets[:-1]][pieces.symbols].tobytes()
        ends = pieces.offsets.tolist()
        for index, weight in enumerate(scaled(pieces.weights, factor).tolist()):
            piece = text[ends[index] : ends[index + 1]]
            words[piece] = words.get(piece, 0) + weight
    return WeightedPieces.of_bytes(words)


def rules_of(base: BaseFile) -> PieceRules | None:
    """Return SentencePiece's rules for pieces; None for a base that does not write spaces as ``▁``.

    A SentencePiece model states its rules; in other files, two of them are guessed from the tokens.
    """
    if base.kind == "sentencepiece":
        return read_piece_rules(base.data, base.label)
    model: Any = base.model
    if model.symbols != "characters" or "▁".encode() not in model.alphabet:
        return None
    merges = model.merges
    data, ends = merges.data.tobytes(), merges.offsets.tolist()
    strings = [data[ends[token] : ends[token + 1]].decode(errors="replace") for token in np.flatnonzero(merges.tested)]
    return PieceRules(
        digits_alone=not any(sum(map(str.isdigit, text)) > 1 for text in strings),
        whitespace_only=any(len(text) > 1 and not text.strip("▁") for text in strings),
    )
