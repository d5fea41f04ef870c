"""A corpus of pieces by the base's split, and the strings and rules learnt from it by any algorithm.

Corpora of different sizes may be balanced. Extensions of other sizes are taken from what was learnt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.coverage import MissingCharacters, missing_characters
from pyharness.features.adaptation.bpe.edited_file import extended
from pyharness.features.adaptation.bpe.extension import (
    AUXILIARY_SIZE,
    ExtendingOptions,
    Extension,
    check_extending,
    check_naive,
    extend,
    extend_naively,
)
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, PieceRules, encoded, read_piece_rules
from pyharness.features.adaptation.bpe.placement import Emitted, compiled, place
from pyharness.features.adaptation.trainers.adapted import BaseFile
from pyharness.features.adaptation.trainers.declarations import AdaptingOptions
from pyharness.features.training.trainers import Array, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed, read_in_batches
from pyharness.types import InputError, offsets_of

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


Read: TypeAlias = Mapping[str, int]  # documents, bytes and distinct_pieces of the text


@dataclass(frozen=True, slots=True)
class Learnt:
    """An extension, and facts about its text."""

    extension: Extension
    read: Read
    missing: MissingCharacters  # characters of the text without a token in the base

    def as_arrays(self) -> dict[str, Array]:
        """Return everything as arrays, to keep."""
        extension, missing = self.extension, self.missing
        lengths = np.array([len(token) for token in extension.tokens], np.int64)
        first = "".join(character.decode() for character in missing.first)
        return {
            "strings": np.frombuffer(b"".join(extension.tokens), np.uint8),
            "offsets": offsets_of(lengths),
            "rules": extension.rules,
            "counts": extension.counts,
            "numbers": np.array([extension.base_ids, extension.complete, *self.read.values()], np.int64),
            "first_characters": np.frombuffer(first.encode(), np.uint8),
            "missing": missing.counts,
            "characters": np.array([missing.occurrences, missing.advised], np.int64),
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Learnt:
        """Inverse of ``as_arrays``."""
        text, numbers = arrays["strings"].tobytes(), arrays["numbers"].tolist()
        strings = tuple(text[start:end] for start, end in pairwise(arrays["offsets"].tolist()))
        extension = Extension(numbers[0], strings, arrays["rules"], arrays["counts"], complete=bool(numbers[1]))
        first = arrays["first_characters"].tobytes().decode()
        missing = MissingCharacters(
            tuple(character.encode() for character in first), arrays["missing"], *arrays["characters"].tolist()
        )
        return cls(extension, dict(zip(_READ, numbers[2:], strict=True)), missing)


_READ = ("documents", "bytes", "distinct_pieces")


def learn(feed: Feed, base: BaseFile, tokens: int, *, naive: bool) -> Learnt:
    """Learn so many strings, or take them from the training for another size.

    Raises:
        InputError: the base cannot be extended so, or the corpus is unusable.
    """
    request = feed.request
    if request.learnt is not None:
        before = Learnt.of_arrays(request.learnt)
        if len(before.extension.tokens) >= tokens or not before.extension.complete:
            return before
    options = extending_options(request, base)
    check_growth(base.model, tokens, request, options, naive=naive)
    with feed.phases.timed("counting"):
        pieces = counted(feed, base)
    return grow(feed, base, pieces, tokens, options, naive=naive)


def grow(
    feed: Feed, base: BaseFile, pieces: WeightedPieces, tokens: int, options: ExtendingOptions, *, naive: bool = False
) -> Learnt:
    """Learn so many strings from pieces; characters for the requested coverage come first."""
    request, model = feed.request, base.model
    with feed.phases.timed("counting"):
        missing = missing_characters(model, pieces, request.options.character_coverage, options.get("denies"))
    characters = missing.first[:tokens]
    with feed.phases.timed("merging"):
        report = feed.phases.gauge("merging", "tokens", tokens)
        if request.progress is not None:
            options["progress"] = report
        spelling = _spelling(base, characters)
        left = tokens - len(characters)
        if naive:
            extension = extend_naively(spelling, pieces, left, auxiliary_size=_auxiliary_size(request), **options)
        else:
            extension = extend(spelling, pieces, left, **options)
    extension = dataclasses.replace(extension, base_ids=model.id_limit, tokens=(*characters, *extension.tokens))
    read = dict(zip(_READ, (feed.documents, feed.bytes, len(pieces.weights)), strict=True))
    return Learnt(extension, read, missing)


def check_growth(
    model: BpeModel,
    tokens: int,
    request: TrainingRequest[AdaptingOptions],
    options: ExtendingOptions,
    *,
    naive: bool = False,
) -> None:
    """Refuse, before the text is read, a request that fails on any text.

    Raises:
        InputError: the base cannot be extended so.
    """
    if naive:
        check_naive(model, tokens, _auxiliary_size(request))
    else:
        check_extending(model, tokens, options)


def _spelling(base: BaseFile, characters: tuple[bytes, ...]) -> BpeModel:
    """Return the base with tokens for some characters after its own."""
    if not characters:
        return base.model
    none = np.zeros((0, 3), np.uint32), np.zeros(0, np.uint64)
    extension = Extension(base.model.id_limit, characters, *none, complete=True)
    placement = place(base.model, len(characters))
    return import_model(extended(base.data, base.model, extension, placement, base.label), label=base.label)


def _auxiliary_size(request: TrainingRequest[AdaptingOptions]) -> int:
    return getattr(request.options, "auxiliary_size", None) or AUXILIARY_SIZE


def extending_options(request: TrainingRequest[AdaptingOptions], base: BaseFile) -> ExtendingOptions:
    """Return the options of the training, from the request and the base."""
    rules, settings = rules_of(base), request.options
    characters = settings.max_token_characters or (rules.longest if rules else None)
    options = ExtendingOptions(
        tie_rule=settings.tie_rule, min_frequency=2 if settings.min_frequency is None else settings.min_frequency,
        max_token_length=settings.max_token_length, max_token_characters=characters, piece_rules=rules,
        whole_pieces=settings.whole_pieces, cascade=settings.cascade, threads=request.threads,
    )  # fmt: skip
    if settings.deny is not None:
        search = compiled("deny", settings.deny).search
        options["denies"] = lambda text: search(text) is not None
    return options
