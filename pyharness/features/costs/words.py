"""The benchmark ``words``: the words of a text that cost most, as a list to act on.

The cost of a word is its count, times the tokens that it takes beyond its pieces: what tokens for these would save. A
word is one piece unless the tokenizer cuts it, as many cut "8,5": no token crosses a cut. A split pattern says where
it cuts. Models without one, such as those of SentencePiece, keep digits apart when they are trained, and the file that
encodes says nothing of it: there a cut is where no token of the vocabulary has such neighbours. Tokens and pieces are
those that it adds behind another word. Words are UAX #29 segments with a letter or number.
"""

from __future__ import annotations

import contextlib
import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.bpe.model.text_splitter import TextSplitter, native_errors
from pyharness.corpora.streaming import batches, keyed
from pyharness.metrics.counting.state_arrays import taken
from pyharness.metrics.counting.words import UNSEGMENTED, WORD_LIKE, segments_of
from pyharness.types import (
    PERCENT,
    Answer,
    Case,
    CaseResult,
    Column,
    HasVocabulary,
    InputError,
    Listing,
    Measurement,
    Metric,
    Offsets,
    State,
    Table,
    Tally,
    Tokenizer,
    TokenKind,
    Vocabulary,
    counted,
)
from pyharness.vocabularies.patterns.tables import compiled
from pyharness.vocabularies.stages import HasStages, SplitStep

BEFORE = "a"  # the word before: "a word" less "a"
MOST_SHOWN = 100
MOST_WORDS = 1 << 20  # different ones that are counted; later new ones are left out
LONGEST = 64  # characters of a word; longer ones are data
_BATCH_CHARACTERS = 1 << 20
_BATCH_WORDS = 1 << 14
_COUNTS = ("words", "different", "tokens", "excess", "of the first", "left out")


@dataclass(frozen=True, slots=True)
class WordCost:
    """A word with its count in the text, and the tokens and pieces that it takes."""

    word: str
    count: int
    tokens: int
    pieces: int = 1

    @property
    def cost(self) -> int:
        """Tokens that a token for each piece would save."""
        return self.count * max(self.tokens - self.pieces, 0)


def count_words(texts: Sequence[str], counts: Counter[str]) -> int:
    """Count the words of texts, and return how many were left out.

    Left out are words that are too long, new ones when there are too many, and those of scripts without spaces, where
    UAX #29 does not find words.
    """
    left_out = 0
    for text in texts:
        for segment in segments_of(text):
            if WORD_LIKE.search(segment) is None:
                continue
            new = segment not in counts
            if len(segment) > LONGEST or (new and (len(counts) >= MOST_WORDS or UNSEGMENTED.search(segment))):
                left_out += 1
            else:
                counts[segment] += 1
    return left_out


def costs_of(counts: Mapping[str, int], tokenizer: Tokenizer, threads: int = 1) -> list[WordCost]:
    """Return the cost of each word, the largest first."""
    costs: list[WordCost] = []
    cuts = PieceBounds.of(tokenizer)
    for words in batches(counts, count=_BATCH_WORDS):
        texts = [BEFORE, *(f"{BEFORE} {word}" for word in words)]
        tokens, pieces = np.diff(tokenizer.encode_batch(texts, threads).offsets), cuts.pieces(texts)
        added = np.stack([tokens[1:] - tokens[0], pieces[1:] - pieces[0]]).clip(min=[[0], [1]])
        costs += [WordCost(word, counts[word], *both) for word, both in zip(words, added.T.tolist(), strict=True)]
    return sorted(costs, key=lambda one: (-one.cost, one.word))


_LETTERS = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl")


@cache
def _class_of(character: str) -> str:
    """Return the class of a character: a space, digit, letter or other sign.

    Digits are those that SentencePiece keeps apart; it treats those of other scripts as letters.
    """
    if "0" <= character <= "9" or "\uff10" <= character <= "\uff19":
        return "1"
    return " " if character.isspace() else "a" if unicodedata.category(character) in _LETTERS else "."


@dataclass(frozen=True, slots=True)
class PieceBounds:
    """Where no token crosses: the steps of a split pattern, and neighbours that no token of the vocabulary has."""

    splitters: Sequence[TextSplitter]
    joined: frozenset[str] | None  # pairs of classes that are next to each other in some token; None: all may be

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> PieceBounds:
        """Read the steps of a row's split pattern; where none cuts letters from digits, look at its vocabulary."""
        if not isinstance(tokenizer, HasStages):
            return cls((), None)
        splitters = []
        for step in tokenizer.stages().splits:
            with contextlib.suppress(InputError):
                splitters.append(_splitter(step))
        by_pattern = cls(splitters, None)
        if not isinstance(tokenizer, HasVocabulary) or by_pattern.pieces(["a1"]).tolist() != [1]:
            return by_pattern
        return cls(splitters, neighbours(tokenizer.vocabulary()))

    def pieces(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of pieces of each text: every step cuts what the step before left of it."""
        pieces, owners = [text.encode() for text in texts], np.arange(len(texts))
        for splitter in self.splitters:
            kept, ends, offsets = _cut(splitter, pieces)
            owners = np.repeat(owners, np.diff(offsets))
            pieces = [
                left[start:end]
                for left, (first, last) in zip(kept, pairwise(offsets.tolist()), strict=True)
                for start, end in pairwise([0, *ends[first:last].tolist()])
            ]
        return np.bincount(owners, [self._parts(piece) for piece in pieces], len(texts)).astype(np.int64)

    def _parts(self, piece: bytes) -> int:
        if self.joined is None:
            return 1
        return 1 + sum(pair not in self.joined for pair in _pairs(piece.decode()))


def _splitter(step: SplitStep) -> TextSplitter:
    """Return the splitter of a step; it removes what the step removes, such as white space between words.

    Known patterns leave nothing between their matches.
    """
    splitter = TextSplitter(step.expression, dialect=step.dialect)
    if splitter.engine == "compiled" and not (step.keeps_matches and step.keeps_gaps):
        table = compiled(step.expression, step.dialect)
        splitter.native = _core.CompiledSplitter([replace(table, removed="gaps" if step.keeps_matches else "matches")])
    return splitter


def _cut(splitter: TextSplitter, texts: Sequence[bytes]) -> tuple[Sequence[bytes], NDArray[np.int64], Offsets]:
    """Return what a step leaves of texts, and where its pieces end."""
    if splitter.native is None:
        pieces = splitter.split_batch(texts)
        return texts, pieces.ends, pieces.offsets
    with native_errors():
        return _core.split_and_remove(splitter.native, texts)


def _pairs(text: str) -> list[str]:
    return [one + other for one, other in pairwise(map(_class_of, text))]


def neighbours(vocabulary: Vocabulary) -> frozenset[str]:
    """Return which classes of characters are next to each other in some token of the model."""
    pairs: set[str] = set()
    for string in itertools.compress(vocabulary.strings(), (vocabulary.kinds == TokenKind.NORMAL).tolist()):
        with contextlib.suppress(UnicodeDecodeError):
            pairs.update(_pairs(string.decode()))
    return frozenset(pairs)


def run(work: Work) -> Findings:
    """Read the text once, and encode each different word."""
    tokenizer, tally, counts, left_out = work.load(), Tally(), Counter[str](), 0
    for batch in batches((piece.text for piece in keyed(work.text, tally)), size=_BATCH_CHARACTERS):
        for text in batch:
            tally.add(text)
        left_out += count_words(batch, counts)
        work.progress(tally.bytes)
    costs = costs_of(counts, tokenizer, work.threads)
    state = {"word costs": _sums(costs, left_out)}
    first = [[one.word, one.count, one.tokens, one.cost] for one in costs[:MOST_SHOWN] if one.cost > 0]
    given = _findings(state["word costs"])
    return Findings(given.measurements, {**given.details, "costliest": first}, tally=tally, state=state)


def _sums(costs: Sequence[WordCost], left_out: int) -> NDArray[np.int64]:
    return np.array([
        sum(one.count for one in costs), len(costs), sum(one.count * one.tokens for one in costs),
        sum(one.cost for one in costs), sum(one.cost for one in costs[:MOST_SHOWN]), left_out,
    ], np.int64)  # fmt: skip


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the sums."""
    del case
    return _findings(taken(state, "word costs", len(_COUNTS)).astype(np.int64))


def _findings(sums: NDArray[np.int64]) -> Findings:
    counts = dict(zip(_COUNTS, sums.tolist(), strict=True))
    if min(counts.values()) < 0 or counts["of the first"] > counts["excess"]:
        raise InputError("sums of words contradict each other")
    excess, tokens = counts["excess"], counts["tokens"]
    share = excess / tokens if tokens else None
    first = counts["of the first"] / excess if excess else None
    measurements = (
        Measurement("word_excess_share", share, reason=None if tokens else "the text has no words"),
        Measurement("costliest_words_share", first, reason=None if excess else "every piece is one token"),
    )
    return Findings(measurements, {"words": counts})


def costliest(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Describe the words that cost most."""
    for word, count, tokens, cost in result.details.get("costliest", ()):
        yield repr(word), f"{count:,}", f"{tokens:,}", f"{cost:,}"


def _first(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name the word that costs most on each text."""
    del data
    for result in results:
        if words := result.details.get("costliest"):
            word, count, tokens, cost = words[0]
            often = f"{word!r}, {counted(count, 'time')} {counted(tokens, 'token')}"
            text = f"{result.case.corpus}, {result.case.tokenizer}: {often}; a token for it would save {cost:,}."
            yield Answer("Costliest word", text)


def _left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say how many words are not counted."""
    del data
    if number := results[0].details.get("words", {}).get("left out"):
        yield f"Not counted: {counted(number, 'word')} of more than {LONGEST} characters, or of scripts without spaces."


def _legend(result: CaseResult) -> Iterator[str]:
    del result
    yield "cost: tokens that a token for the word would save: its count times the tokens beyond its pieces."


REPORTED = (
    Metric("word_excess_share", "share", "lower", "tokens of words beyond one for each piece, of all their tokens",
           primary=True, exact=True, format=PERCENT),
    Metric("costliest_words_share", "share", "none", f"share of these tokens that the first {MOST_SHOWN} words cost",
           exact=True, format=PERCENT),
)  # fmt: skip

BENCHMARKS = (
    Benchmark(
        "words",
        "the words of a text that cost most tokens",
        run,
        corpus="required",
        metrics=REPORTED,
        pace=Pace(0.5, 3.0),
        tables=(
            Table(
                "Cost of words",
                columns=(
                    Column("word_excess_share", "to save %"),
                    Column("costliest_words_share", f"first {MOST_SHOWN} %"),
                ),
                notes=(_left_out,),
            ),
        ),
        answers=_first,
        listing=Listing("Costliest words", ("word", "count", "tokens", "cost"), costliest, _legend),
        rederive=rederive,
    ),
)
