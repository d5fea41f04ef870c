"""Slow references of WordPiece, from the definitions: training by likelihood counts everything again at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

PREFIX = "##"
Merge = tuple[str, str, Fraction]


def train(
    words: Mapping[str, int], vocab_size: int, special: Sequence[str] = ("[UNK]",), min_frequency: int = 1
) -> tuple[list[str], list[Merge]]:
    """Merge the pair of the largest count(ab) / (count(a) * count(b)); ties: the lowest places in the vocabulary."""
    spelled = {word: [word[0]] + [PREFIX + letter for letter in word[1:]] for word in words}
    used = {symbol for symbols in spelled.values() for symbol in symbols}
    vocabulary = list(special) + sorted(used - set(special), key=lambda symbol: (symbol.startswith(PREFIX), symbol))
    merges = []
    while len(vocabulary) < vocab_size:
        counts: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for word, symbols in spelled.items():
            for symbol in symbols:
                counts[symbol] += words[word]
            for pair in pairwise(symbols):
                pairs[pair] += words[word]
        scores = {
            (left, right): Fraction(count, counts[left] * counts[right])
            for (left, right), count in pairs.items()
            if count >= min_frequency
        }
        if not scores:
            break
        best = max(scores.values())
        tied = [pair for pair, score in scores.items() if score == best]
        left, right = min(tied, key=lambda pair: (vocabulary.index(pair[0]), vocabulary.index(pair[1])))
        merges.append((left, right, best))
        joined = left + right.removeprefix(PREFIX)
        if joined not in vocabulary:
            vocabulary.append(joined)
        spelled = {word: _merged(symbols, (left, right), joined) for word, symbols in spelled.items()}
    return vocabulary, merges


def _merged(symbols: list[str], pair: tuple[str, str], joined: str) -> list[str]:
    merged, at = [], 0
    while at < len(symbols):
        if tuple(symbols[at : at + 2]) == pair:
            merged.append(joined)
            at += 2
        else:
            merged.append(symbols[at])
            at += 1
    return merged


def encode(word: str, vocabulary: Sequence[str], unknown: str = "[UNK]", longest: int = 100) -> list[str]:
    """Take the longest prefix in the vocabulary, again and again; a word that ends otherwise is unknown as a whole."""
    if len(word) > longest:
        return [unknown]
    pieces, at = [], 0
    while at < len(word):
        known = (end for end in range(len(word), at, -1) if (PREFIX if at else "") + word[at:end] in vocabulary)
        end = next(known, 0)
        if end == 0:
            return [unknown]
        pieces.append((PREFIX if at else "") + word[at:end])
        at = end
    return pieces
