"""Slow references of byte-pair encoding, from the definitions, and builders of small models.

Base symbols are bytes with ids 0..255 unless said otherwise. Everything is recounted or searched again at each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pyharness.types import MergeModel

Pair = tuple[int, int]
Rule = tuple[int, int, int]  # left, right, result
NEVER = 2**32 - 1
BYTES = [bytes([byte]) for byte in range(256)]


def pair_counts(sequences: Iterable[Sequence[int]], weights: Iterable[int]) -> Counter[Pair]:
    counts: Counter[Pair] = Counter()
    for sequence, weight in zip(sequences, weights, strict=True):
        for pair in pairwise(sequence):
            counts[pair] += weight  # overlapping: (a, a) is in (a, a, a) twice
    return counts


def merge_pair(sequence: Sequence[int], pair: Pair, new: int) -> list[int]:
    merged: list[int] = []
    at = 0
    while at < len(sequence):
        if tuple(sequence[at : at + 2]) == pair:
            merged.append(new)
            at += 2
        else:
            merged.append(sequence[at])
            at += 1
    return merged


def characters_in(data: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in data)


def order_of_ties(name: str, vocabulary: Mapping[int, bytes], counts: Mapping[Pair, int]) -> Callable[[Pair], Any]:
    """Return what the smallest of equally frequent pairs is found by; ``counts`` has the pairs as they are met."""
    place = {pair: at for at, pair in enumerate(counts)}

    def piece(pair: Pair) -> bytes:
        return vocabulary[pair[0]] + vocabulary[pair[1]]

    orders: dict[str, Callable[[Pair], Any]] = {
        "smallest_ids": lambda pair: pair,
        "first_seen": place.__getitem__,
        "lexicographic": lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]], pair),
        "sentencepiece": lambda pair: (characters_in(piece(pair)), piece(pair), pair),
    }
    return orders[name]


def train(
    words: Mapping[bytes, int] | Mapping[tuple[int, ...], int],
    vocabulary_size: int,
    ties: str = "smallest_ids",
    min_frequency: int = 1,
    max_length: int | None = None,
    counted: list[int] | None = None,
    base: Sequence[bytes] = BYTES,
    max_characters: int | None = None,
    prefix: bytes = b"",
    texts: Sequence[bytes] | None = None,
    until_tie: bool = False,
) -> tuple[dict[int, bytes], list[Rule]]:
    """Highest count first, ties by ``ties``; the count of each rule's pair goes to ``counted``.

    The items of a word are ids of the ``base``. ``texts``: what the base symbols are without prefix and suffix, which
    is what lengths are of. ``until_tie``: stop before the first choice between equally frequent pairs.
    """
    sequences = [list(word) for word in words]
    vocabulary = dict(enumerate(base))
    plain = dict(enumerate(base if texts is None else texts))
    ids = {data: token for token, data in vocabulary.items()}
    rules: list[Rule] = []
    while len(vocabulary) < vocabulary_size:
        found = pair_counts(sequences, words.values())
        counts = {
            pair: count
            for pair, count in found.items()
            if count >= min_frequency
            and (max_length is None or len(plain[pair[0]] + plain[pair[1]]) <= max_length)
            and (max_characters is None or characters_in(plain[pair[0]] + plain[pair[1]]) <= max_characters)
        }
        if not counts or (until_tie and list(counts.values()).count(max(counts.values())) > 1):
            break
        order = order_of_ties(ties, vocabulary, counts)
        pair = min(counts, key=lambda p: (-counts[p], order(p)))
        data = vocabulary[pair[0]] + vocabulary[pair[1]].removeprefix(prefix)
        new = ids.setdefault(data, len(vocabulary))
        vocabulary[new] = data
        plain.setdefault(new, plain[pair[0]] + plain[pair[1]])
        rules.append((*pair, new))
        if counted is not None:
            counted.append(counts[pair])
        sequences = [merge_pair(sequence, pair, new) for sequence in sequences]
    return vocabulary, rules


def encode(base: Sequence[int], rules: Sequence[Rule]) -> list[int]:
    """Lowest rank first, leftmost first; the first of equal pairs wins."""
    found: dict[Pair, tuple[int, int]] = {}
    for rank, (left, right, new) in enumerate(rules):
        found.setdefault((left, right), (rank, new))
    symbols = list(base)
    while True:
        candidates = [(*found[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in found]
        if not candidates:
            return symbols
        _, new, at = min(candidates, key=lambda candidate: (candidate[0], candidate[2]))
        symbols[at : at + 2] = [new]


def encode_ranks(base: Sequence[int], tokens: Mapping[int, bytes], ranks: Mapping[int, int]) -> list[int]:
    """Any two neighbours whose concatenation has a rank may merge: lowest rank first, leftmost first."""
    by_bytes: dict[bytes, tuple[int, int]] = {}
    for token, rank in sorted(ranks.items(), key=lambda item: (item[1], item[0])):
        if rank != NEVER:
            by_bytes.setdefault(tokens[token], (rank, token))
    symbols = [(token, tokens[token]) for token in base]
    while True:
        candidates = [
            (*by_bytes[left[1] + right[1]], at)
            for at, (left, right) in enumerate(pairwise(symbols))
            if left[1] + right[1] in by_bytes
        ]
        if not candidates:
            return [token for token, _ in symbols]
        _, new, at = min(candidates, key=lambda candidate: (candidate[0], candidate[2]))
        symbols[at : at + 2] = [(new, tokens[new])]


def derivable(atomic: Iterable[int], rules: Sequence[Rule]) -> dict[int, int]:
    """Derivable ids with their least depth, by trying every rule until nothing changes."""
    depth = dict.fromkeys(atomic, 0)
    fires = first_rules(rules)
    changed = True
    while changed:
        changed = False
        for (left, right), new in fires.items():
            if left in depth and right in depth:
                level = 1 + max(depth[left], depth[right])
                if level < depth.get(new, level + 1):
                    depth[new] = level
                    changed = True
    return depth


def first_rules(rules: Sequence[Rule]) -> dict[Pair, int]:
    found: dict[Pair, int] = {}
    for left, right, new in rules:
        found.setdefault((left, right), new)
    return found


def split_rules(tokens: Mapping[int, bytes]) -> list[Rule]:
    """Rules of a ranks-form model over distinct byte strings: every split into two tokens."""
    ids = {data: token for token, data in tokens.items()}
    return [
        (ids[data[:cut]], ids[data[cut:]], token)
        for token, data in tokens.items()
        for cut in range(1, len(data))
        if data[:cut] in ids and data[cut:] in ids
    ]


def model(
    tokens: Mapping[int, bytes],
    *,
    rules: Sequence[Rule] | None = None,
    ranks: Mapping[int, int] | None = None,
    untested: Iterable[int] = (),
) -> MergeModel:
    """Byte-level model of ``id -> bytes``: one-byte tokens are the base symbols; missing ids are gaps."""
    size = max(tokens) + 1
    base_ids = {data[0]: token for token, data in reversed([*tokens.items()]) if len(data) == 1}
    strings = [tokens.get(token, b"") for token in range(size)]
    base = [[base_ids[byte] for byte in data] if set(data) <= base_ids.keys() else [] for data in strings]
    skipped = set(untested)
    return MergeModel(
        data=np.frombuffer(b"".join(strings), np.uint8),
        offsets=offsets_of(strings),
        base=np.array([symbol for symbols in base for symbol in symbols], np.uint32),
        base_offsets=offsets_of(base),
        tested=np.array([bool(data) and token not in skipped for token, data in enumerate(strings)]),
        atomic=np.array([len(data) == 1 and base_ids[data[0]] == token for token, data in enumerate(strings)]),
        rules=None if rules is None else np.array(rules, np.uint32).reshape(-1, 3),
        ranks=None if ranks is None else np.array([ranks.get(token, NEVER) for token in range(size)], np.uint32),
    )


def offsets_of(rows: Sequence[Sequence[int] | bytes]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)
