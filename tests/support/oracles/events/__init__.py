"""PickyBPE and encoding by events, everything counted and searched again at each step (docs/algorithms.md "Events")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from oracles.bpe import BYTES, Pair, merge_pair, pair_counts

Side = tuple[int, ...]
Step = tuple[Side, Side]  # tokens, and what replaces them


@dataclass
class Picky:
    """A training: what is present, and the pairs in the order in which they came in."""

    words: Sequence[bytes]
    weights: Sequence[int]
    threshold: float
    strings: list[bytes] = field(default_factory=lambda: list(BYTES))
    present: set[int] = field(default_factory=lambda: set(range(256)))
    parts: dict[int, Pair] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.text = [list(word) for word in self.words]
        self.pairs: list[Pair] = []
        self.come_in()

    def count(self) -> Counter[Pair]:
        return pair_counts(self.text, self.weights)

    def frequency(self, token: int) -> int:
        return sum(weight * word.count(token) for word, weight in zip(self.text, self.weights, strict=True))

    def come_in(self) -> None:
        for word in self.text:
            for pair in pairwise(word):
                if pair not in self.pairs:
                    self.pairs.append(pair)

    def merge(self) -> bool:
        counts = self.count()
        if not any(counts.values()):
            return False
        pair = max(self.pairs, key=lambda one: counts[one])  # the first of several
        string = self.strings[pair[0]] + self.strings[pair[1]]
        if string not in self.strings:
            self.strings.append(string)
            self.parts[len(self.strings) - 1] = pair
        token = self.strings.index(string)
        self.present.add(token)
        self.steps.append((pair, (token,)))
        before = {part: self.frequency(part) for part in pair}
        lengths = [len(word) for word in self.text]
        self.text = [merge_pair(word, pair, token) for word in self.text]
        merged = sum(
            weight * (length - len(word)) for word, length, weight in zip(self.text, lengths, self.weights, strict=True)
        )
        self.pairs.remove(pair)
        self.come_in()
        after = self.count()
        self.pairs = [one for one in self.pairs if after[one] or not counts[one]]
        if pair[0] == pair[1]:
            self.remove(pair[0], merged, before[pair[0]] - merged)
        else:
            for part in pair:
                self.remove(part, merged, self.frequency(part) + merged)
        return True

    def remove(self, token: int, merged: int, of: int) -> None:
        if token < 256 or not merged / of > self.threshold:
            return
        self.present.remove(token)
        parts = tuple(self.spelled(token))
        self.steps.append(((token,), parts))
        for pair in pairwise(parts):
            if pair not in self.pairs:
                self.pairs.append(pair)
        old = list(dict.fromkeys(pair for word in self.text for pair in pairwise(word) if token in pair))
        for left, right in old:
            new = parts[-1] if left == token else left, parts[0] if right == token else right
            if new not in self.pairs:
                self.pairs.append(new)
            self.pairs.remove((left, right))
        self.text = [replaced(word, (token,), parts) for word in self.text]

    def spelled(self, token: int) -> Iterator[int]:
        if token in self.present:
            yield token
        else:
            for part in self.parts[token]:
                yield from self.spelled(part)


def train(words: Mapping[bytes, int], threshold: float, size: int) -> Picky:
    picky = Picky(list(words), list(words.values()), threshold)
    while len(picky.present) < size and picky.merge():
        pass
    return picky


def replaced(word: Sequence[int], before: Side, after: Side) -> list[int]:
    """Replace tokens wherever they stand, from left to right."""
    result: list[int] = []
    at = 0
    while at < len(word):
        found = tuple(word[at : at + len(before)]) == before
        result.extend(after if found else word[at : at + 1])
        at += len(before) if found else 1
    return result


def replay(word: bytes, steps: Sequence[Step]) -> list[int]:
    """Run every event once, in order."""
    tokens = list(word)
    for before, after in steps:
        tokens = replaced(tokens, before, after)
    return tokens


def merge_lowest(word: bytes, steps: Sequence[Step]) -> list[int]:
    """Run the first event that applies, until none does."""
    tokens = list(word)
    while True:
        for before, after in steps:
            if (new := replaced(tokens, before, after)) != tokens:
                tokens = new
                break
        else:
            return tokens
