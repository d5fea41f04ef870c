"""Slow references of the distribution metrics, from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise
from math import log2


def probabilities(tokens: Sequence[Hashable]) -> list[float]:
    counts = Counter(tokens)
    return sorted((count / len(tokens) for count in counts.values()), reverse=True)


def renyi_entropy(p: Sequence[float], alpha: float) -> float:
    if alpha == 1:
        return -sum(x * log2(x) for x in p)
    return log2(sum(x**alpha for x in p)) / (1 - alpha)


def conditional_entropy(tokens: Sequence[Hashable]) -> float:
    """H(next | current) over adjacent pairs: sum over current of p(current) H(next | current)."""
    pairs = list(pairwise(tokens))
    total = 0.0
    for current in {left for left, _ in pairs}:
        following = [right for left, right in pairs if left == current]
        total += len(following) / len(pairs) * renyi_entropy(probabilities(following), 1)
    return total


def bin_of(value: int, edges: Sequence[int]) -> int:
    """Index of the bin [edges[i], edges[i + 1]) that a value lies in."""
    return next(index for index, (low, high) in enumerate(pairwise(edges)) if low <= value < high)


def tokens_by_rank(tokens: Sequence[Hashable], edges: Sequence[int]) -> list[tuple[int, int]]:
    """Tokens and types of each bin of ranks, from 1 for the commonest."""
    bins = [[0, 0] for _ in edges[1:]]
    for rank, (_, count) in enumerate(Counter(tokens).most_common(), 1):
        bins[bin_of(rank, edges)][0] += count
        bins[bin_of(rank, edges)][1] += 1
    return [(count, types) for count, types in bins]
