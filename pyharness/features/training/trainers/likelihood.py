"""WordPiece by likelihood: merge the pair whose count is largest relative to the counts of its two symbols.

The score of a pair is count(ab) / (count(a) * count(b)) (the score of the papers, in the form of the Hugging Face
course). A symbol's counts change the scores of all its pairs. So every merge computes all scores again, by NumPy in
float64. Scores within rounding of the largest are compared as fractions of integers.

>>> train({"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}, 11).vocabulary[-3:]
['##gs', 'bu', 'bun']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import WordOptions
from pyharness.features.training.trainers.feeding import Feed
from pyharness.features.training.trainers.huggingface import FILE, MOST, UNKNOWN, bert_words, with_unknown
from pyharness.types import InputError, counted

PREFIX = "##"
LONGEST_WORD = 100  # characters: the model calls longer words unknown
ROUNDING = 1e-12  # relative: float64 rounds a product and a quotient, 4e-16
FIRST_ROOM = 1 << 10  # pairs

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TrainedWordPiece:
    """A vocabulary and its merges."""

    vocabulary: list[str]  # special tokens, characters, characters inside words, then the merged strings
    merges: list[tuple[str, str, Fraction]]  # in order, with their scores


def train(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    special: Sequence[str] = ("[UNK]",),
    min_frequency: int = 1,
    progress: Callable[[int], None] | None = None,
) -> TrainedWordPiece:
    """Merge pairs until the vocabulary has ``vocab_size`` strings, or no pair occurs ``min_frequency`` times.

    ``words`` are not empty and have their counts. Ties go to the pair whose parts come first in the vocabulary, left
    part first. The alphabet is whole even where it has more than ``vocab_size`` characters.
    """
    alphabet = {word[0] for word in words}.union(*({PREFIX + letter for letter in word[1:]} for word in words))
    listed = list(dict.fromkeys([*special, *sorted(alphabet, key=lambda one: (one.startswith(PREFIX), one))]))
    symbols = _SymbolTable(listed, {string: index for index, string in enumerate(listed)})
    state = _Pairs(symbols, words)
    merges: list[tuple[str, str, Fraction]] = []
    while len(listed) < vocab_size and (best := state.best(min_frequency)) is not None:
        (left, right), score = best
        merges.append((listed[left], listed[right], score))
        state.merge(left, right, symbols.numbered(listed[left] + listed[right].removeprefix(PREFIX)))
        if progress is not None:
            progress(len(listed))
    return TrainedWordPiece(listed, merges)


@dataclass(slots=True)
class _SymbolTable:
    """Strings by their index in the vocabulary; two merges that give one string give one symbol."""

    strings: list[str]
    places: dict[str, int]

    def numbered(self, string: str) -> int:
        if string not in self.places:
            self.places[string] = len(self.strings)
            self.strings.append(string)
        return self.places[string]


@dataclass(slots=True)
class _Pairs:
    """Counts of symbols and of neighbours, and the words that contain each pair."""

    symbols: _SymbolTable
    given: Mapping[str, int]
    weights: list[int] = field(init=False)
    words: list[list[int]] = field(init=False)
    words_with: dict[int, set[int]] = field(init=False, default_factory=dict)  # slot of a pair -> words
    slots: dict[Pair, int] = field(init=False, default_factory=dict)
    free: list[int] = field(init=False, default_factory=list)
    # By slot of a pair; pairs that do not occur have count 0 and symbols 0.
    counts: NDArray[np.float64] = field(init=False)
    left: NDArray[np.int64] = field(init=False)
    right: NDArray[np.int64] = field(init=False)
    symbol_counts: NDArray[np.float64] = field(init=False)  # by symbol

    def __post_init__(self) -> None:
        places = self.symbols.places
        self.weights = list(self.given.values())
        self.words = [[places[word[0]], *(places[PREFIX + letter] for letter in word[1:])] for word in self.given]
        self.counts, self.left, self.right = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.symbol_counts = np.zeros(max(FIRST_ROOM, 2 * len(self.symbols.strings)))
        for index in range(len(self.words)):
            self._count(index, 1)

    def best(self, min_frequency: int) -> tuple[Pair, Fraction] | None:
        """Return the pair of largest score, of those that occur often enough, and its score; None without a pair."""
        products = np.maximum(self.symbol_counts[self.left], 1) * np.maximum(self.symbol_counts[self.right], 1)
        scores = np.where(self.counts >= min_frequency, self.counts / products, 0.0)
        largest = scores.max(initial=0.0)
        if largest == 0:
            return None
        candidates = np.flatnonzero(scores >= largest * (1 - ROUNDING))
        order = np.lexsort((self.right[candidates], self.left[candidates]))
        return self._largest(candidates[order].tolist())

    def _largest(self, ordered: Iterable[int]) -> tuple[Pair, Fraction]:
        """Compare candidates as fractions; the first of a tie wins. Most ties have identical counts."""
        pair_of: dict[tuple[float, float, float], Pair] = {}
        for slot in ordered:
            left, right = int(self.left[slot]), int(self.right[slot])
            pair_of.setdefault((self.counts[slot], self.symbol_counts[left], self.symbol_counts[right]), (left, right))
        scores = [Fraction(int(n), int(a) * int(b)) for n, a, b in pair_of]
        score = max(scores)
        return min(pair for pair, one in zip(pair_of.values(), scores, strict=True) if one == score), score

    def merge(self, left: int, right: int, result: int) -> None:
        """Replace a pair by a symbol in every word, from left to right."""
        if result >= len(self.symbol_counts):
            self.symbol_counts = np.append(self.symbol_counts, np.zeros_like(self.symbol_counts))
        for index in sorted(self.words_with[self.slots[left, right]]):
            word = self.words[index]
            self._count(index, -1)
            self.words[index] = merge_pair(word, (left, right), result)
            self._count(index, 1)

    def _count(self, index: int, sign: int) -> None:
        word, weight = self.words[index], sign * self.weights[index]
        for symbol in word:
            self.symbol_counts[symbol] += weight
        for pair, times in Counter(pairwise(word)).items():
            slot = self.slots.get(pair)
            if slot is None:
                slot = self._slot(pair)
            self.counts[slot] += weight * times
            holders = self.words_with[slot]
            if sign > 0:
                holders.add(index)
            else:
                holders.discard(index)
                if not holders:
                    self._forget(pair, slot)

    def _slot(self, pair: Pair) -> int:
        if not self.free:
            room = max(FIRST_ROOM, len(self.counts))
            self.free = list(range(len(self.counts) + room - 1, len(self.counts) - 1, -1))
            self.counts = np.append(self.counts, np.zeros(room))
            self.left, self.right = (np.append(one, np.zeros(room, np.int64)) for one in (self.left, self.right))
        slot = self.slots[pair] = self.free.pop()
        self.left[slot], self.right[slot] = pair
        self.words_with[slot] = set()
        return slot

    def _forget(self, pair: Pair, slot: int) -> None:
        del self.slots[pair], self.words_with[slot]
        self.counts[slot] = self.left[slot] = self.right[slot] = 0
        self.free.append(slot)


def merge_pair(word: Sequence[int], pair: Pair, result: int) -> list[int]:
    """Replace a pair, from left to right.

    >>> merge_pair([1, 1, 1, 2], (1, 1), 3)
    [3, 1, 2]
    """
    left, right = pair
    merged, at = [], 0
    while at < len(word):
        if word[at] == left and at + 1 < len(word) and word[at + 1] == right:
            merged.append(result)
            at += 2
        else:
            merged.append(word[at])
            at += 1
    return merged


def train_wordpiece(request: TrainingRequest[WordOptions]) -> TrainedTokenizer:
    """Train WordPiece by likelihood, into a tokenizer.json of model WordPiece."""
    options = request.options
    if options.vocab_size > MOST:
        raise InputError(f"tokenizers loads at most {MOST:,} ids here: vocab_size is {options.vocab_size:,}")
    special = with_unknown(options)
    feed = Feed(request)
    with feed.phases.timed("counting"):
        words = _count_words(feed)
    feed.check()
    short = {word: count for word, count in words.items() if len(word) <= LONGEST_WORD}
    with feed.phases.timed("merging"):
        merged = feed.phases.gauge("merging", "tokens", options.vocab_size)
        trained = train(
            short, options.vocab_size, special=special, min_frequency=options.min_frequency or 1,
            progress=merged if request.progress else None,
        )  # fmt: skip
        merged(len(trained.vocabulary))
    notes = []
    if left_out := len(words) - len(short):
        notes.append(f"left out as unknown: {counted(left_out, 'word')} of more than {LONGEST_WORD} characters")
    # WordPiece is trained by merges but keeps none.
    return feed.result({FILE: _write(trained.vocabulary, special)}, len(trained.vocabulary), None, notes)


def _count_words(feed: Feed) -> Counter[str]:
    from tokenizers import models

    stages = bert_words(models.WordPiece())
    words: Counter[str] = Counter()
    for text in feed:
        pieces = stages.pre_tokenizer.pre_tokenize_str(stages.normalizer.normalize_str(text))
        words.update(word for word, _ in pieces)
    return words


def _write(vocabulary: list[str], special: list[str]) -> bytes:
    from tokenizers import decoders, models

    ids = {string: index for index, string in enumerate(vocabulary)}
    model: Any = models.WordPiece(
        vocab=ids, unk_token=UNKNOWN, continuing_subword_prefix=PREFIX, max_input_chars_per_word=LONGEST_WORD
    )
    tokenizer = bert_words(model)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    text: str = tokenizer.to_str(pretty=False)
    return text.encode()
