"""Slow references of pruning, from the definitions: every step looks at all tokens again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from oracles.bpe import Rule

Path = tuple[list[int], list[Rule]]  # last symbols, merges in the order in which they took place


def rule_path(base: Sequence[int], rules: Sequence[Rule]) -> Path:
    """Lowest rank first, leftmost first; the first of equal pairs wins."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, (left, right, new) in enumerate(rules):
        found.setdefault((left, right), (rank, new))
    return _path(base, lambda left, right: found.get((left, right)))


def rank_path(base: Sequence[int], strings: Mapping[int, bytes], ranks: Mapping[int, int]) -> Path:
    """Neighbours whose joined string has a rank merge: lowest first, leftmost first."""
    found = {strings[token]: (rank, token) for token, rank in sorted(ranks.items(), key=lambda item: -item[1])}
    return _path(base, lambda left, right: found.get(strings[left] + strings[right]))


def _path(base: Sequence[int], merged: Callable[[int, int], tuple[int, int] | None]) -> Path:
    symbols = list(base)
    fired: list[Rule] = []
    while True:
        candidates = [(*found, at) for at, pair in enumerate(pairwise(symbols)) if (found := merged(*pair))]
        if not candidates:
            return symbols, fired
        _, new, at = min(candidates, key=lambda candidate: (candidate[0], candidate[2]))
        fired.append((symbols[at], symbols[at + 1], new))
        symbols[at : at + 2] = [new]


def leaf_order(paths: Mapping[int, Path], counts: Mapping[int, int], removable: Collection[int]) -> list[int]:
    """Least frequent removable token first that is on the way to no token that is left; ties: larger id."""
    frequency, alive = Counter(dict(counts)), set(paths)
    order: list[int] = []
    ways = {token: fired for token, (symbols, fired) in paths.items() if symbols == [token]}  # of reachable ones
    while True:
        inside = {part for token in alive & ways.keys() for left, right, _ in ways[token] for part in (left, right)}
        leaves = [token for token in alive if token in removable and token not in inside]
        if not leaves:
            return order
        token = min(leaves, key=lambda leaf: (frequency[leaf], -leaf))
        alive.discard(token)
        order.append(token)
        if way := ways.get(token):
            for part in way[-1][:2]:
                frequency[part] += frequency[token]


def merges_of(paths: Mapping[bytes, Path], words: Mapping[bytes, int]) -> Counter[int]:
    """How many merges take each token in the words; one that takes it twice is one."""
    uses: Counter[int] = Counter()
    for word, weight in words.items():
        for left, right, _ in paths[word][1]:
            for part in {left, right}:
                uses[part] += weight
    return uses


def remove(
    strings: Mapping[int, bytes], rules: Sequence[Rule], gone: Collection[int]
) -> tuple[dict[int, bytes], list[Rule]]:
    """Drop tokens and all rules that take or make one of them; other ids are numbered in their old order."""
    new = {token: at for at, token in enumerate(sorted(set(strings) - set(gone)))}
    kept = [rule for rule in rules if not set(rule) & set(gone)]
    return (
        {new[token]: strings[token] for token in new},
        [(new[left], new[right], new[result]) for left, right, result in kept],
    )
