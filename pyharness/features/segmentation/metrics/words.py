"""Words that units cut, and whether units cut a word the same way everywhere.

The *cut* of a word is the set of places inside it, between its first and last byte, where units end. A word counts once
per extract, at a random one of its occurrences. Consistency is a share over pairs of extracts, of two groups of
documents, that share a word: the pairs, over all words, in which both extracts cut it alike. The expected share of
pairs does not depend on the length of the text. The share of a word's commonest cut falls with more occurrences, and
the number of its cuts rises.

Frequent words still have most of the pairs, and tokens of a large vocabulary leave them whole. So a second share
excludes pairs in which neither word is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation.metrics.variants import draws
from pyharness.metrics.counting.state_arrays import taken
from pyharness.metrics.counting.words import Bounds, words
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import PERCENT, Digest, Format, InputError, Measurement, Metric, State

Cut: TypeAlias = tuple[int, ...]  # bytes of a word before each end inside it
Pairs = NDArray[np.int64]  # [GROUPS, GROUPS]: of equal words in two groups

_NAMES = ("word pairs", "word pairs cut alike", "word pairs uncut")


def cut_words(text: str, ends: Bounds) -> Iterator[tuple[str, Cut]]:
    """Yield the words of a text with their cuts; ``ends`` int64 [units], in bytes."""
    spans = list(words(text))
    starts, stops = np.array([(start, stop) for _, start, stop in spans], np.int64).reshape(-1, 2).T
    first, last = np.searchsorted(ends, starts, "right"), np.searchsorted(ends, stops, "left")
    for (word, start, _), begin, end in zip(spans, first.tolist(), last.tolist(), strict=True):
        yield word, tuple((ends[begin:end] - start).tolist()) if end > begin else ()


def one_of_each(found: Sequence[tuple[str, Cut]], seed: Digest) -> dict[str, Cut]:
    """Return the distinct words of an extract, each with its cut at one occurrence, chosen by the digest."""
    return dict(found[place] for place in np.argsort(draws(seed, len(found))).tolist())


@dataclass(frozen=True, slots=True)
class CutKinds:
    """Distinct pairs of a word and its cut, by number."""

    types: NDArray[np.int64]  # [kinds], numbers of the words
    are_uncut: NDArray[np.bool_]  # [kinds]

    @classmethod
    def numbered(cls, found: Sequence[tuple[str, Cut]]) -> tuple[CutKinds, NDArray[np.int64]]:
        """Number the kinds (words with their cuts); return them with the number of each word found."""
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(found))}
        types = {word: number for number, word in enumerate(dict.fromkeys(word for word, _ in numbers))}
        of_kinds = np.array([types[word] for word, _ in numbers], np.int64)
        are_uncut = np.array([not cut for _, cut in numbers], np.bool_)
        return cls(of_kinds, are_uncut), np.array([numbers[kind] for kind in found], np.int64)

    def by_group(self, numbers: NDArray[np.int64], groups: NDArray[Any]) -> NDArray[np.int64]:
        """Return int64 [kinds, GROUPS]: occurrences of each kind among ``numbers``, by group."""
        places = numbers * GROUPS + groups.astype(np.int64)
        return np.bincount(places, minlength=len(self.types) * GROUPS).reshape(-1, GROUPS).astype(np.int64)


@dataclass(slots=True)
class WordPairs:
    """Pairs of equal words in two groups of documents, and the distinct cuts of words that occur twice or more."""

    pairs: Pairs
    alike: Pairs  # pairs cut alike
    uncut: Pairs  # pairs with both uncut
    types: int  # distinct words that occur twice or more
    cuts: int  # distinct cuts of these

    @classmethod
    def of(cls, occurrences: NDArray[np.int64], kinds: CutKinds) -> WordPairs:
        """Pair words; ``occurrences`` int64 [kinds, GROUPS]: occurrences of each kind in a group."""
        of_types = np.zeros((int(kinds.types.max(initial=-1)) + 1, GROUPS), np.int64)
        np.add.at(of_types, kinds.types, occurrences)
        again = of_types.sum(axis=1) > 1
        return cls(
            _pairs(of_types),
            _pairs(occurrences),
            _pairs(occurrences[kinds.are_uncut]),
            int(again.sum()),
            int((again[kinds.types] & occurrences.any(axis=1)).sum()),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep next to a record."""
        matrices = dict(zip(_NAMES, (self.pairs, self.alike, self.uncut), strict=True))
        return {**matrices, "word cuts": np.array([self.types, self.cuts], np.int64)}

    @classmethod
    def of_arrays(cls, arrays: State) -> WordPairs:
        """Inverse of ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        matrices = [arrays.get(name, np.zeros(0)).astype(np.int64) for name in _NAMES]
        pairs, alike, uncut = matrices
        if any(matrix.shape != (GROUPS, GROUPS) for matrix in matrices):
            raise InputError(f"pairs of words are not of {GROUPS} groups")
        if (uncut < 0).any() or (uncut > alike).any() or (alike > pairs).any():
            raise InputError("of some words there are more pairs cut alike than pairs")
        return cls(pairs, alike, uncut, *taken(arrays, "word cuts", 2).tolist())

    def consistency(self, groups: jackknife.Groups) -> float:
        """Return pairs cut alike / pairs."""
        pairs, alike, _ = (_within(matrix, groups) for matrix in (self.pairs, self.alike, self.uncut))
        if pairs == 0:
            raise Undefined("no word occurs in two groups of documents")
        return alike / pairs

    def consistency_of_cut(self, groups: jackknife.Groups) -> float:
        """Return pairs cut alike / pairs, among pairs with at least one word cut."""
        pairs, alike, uncut = (_within(matrix, groups) for matrix in (self.pairs, self.alike, self.uncut))
        if pairs == uncut:
            raise Undefined("no word that is cut occurs in two groups of documents")
        return (alike - uncut) / (pairs - uncut)

    def cuts_per_word(self) -> float:
        """Return distinct cuts / distinct words, of words that occur twice or more."""
        if self.types == 0:
            raise Undefined("no word occurs twice")
        return self.cuts / self.types

    def measure(self, documents: Sequence[int]) -> list[Measurement]:
        """Return every metric of pairs; ``documents``: number of uncut documents by group."""
        consistent, of_cut, distinct = REPORTED
        return [
            jackknife.estimate(consistent.name, documents, self.consistency),
            jackknife.estimate(of_cut.name, documents, self.consistency_of_cut),
            jackknife.without_interval(distinct.name, lambda _: self.cuts_per_word(), _GROWS),
        ]


def _pairs(occurrences: NDArray[np.int64]) -> Pairs:
    """Count pairs of equal things between any two groups, without pairs within a group; int64 [things, GROUPS].

    float64 is a hundred times as fast as int64, and exact below 2^53: up to 94 million words; extracts have half a
    megabyte.
    """
    counts = occurrences.astype(np.float64)
    pairs = (counts.T @ counts).astype(np.int64)
    np.fill_diagonal(pairs, 0)
    return pairs


def _within(pairs: Pairs, groups: jackknife.Groups) -> int:
    return int(pairs[np.ix_(groups, groups)].sum())


_GROWS = "it grows with the extracts, and these are counted once"
REPORTED = (
    Metric(
        "word_consistency", "share", "higher", "pairs of one word in two documents that are cut alike",
        format=PERCENT,
    ),
    Metric(
        "cut_word_consistency", "share", "higher", "pairs of equal words, at least one of them cut, that are cut alike",
        format=PERCENT,
    ),
    Metric(
        "cuts_per_word", "cut/word", "lower", "different ways in which a repeated word is cut, or left whole",
        grows_with_text=True, format=Format("{:.3f}"),
    ),
)  # fmt: skip
