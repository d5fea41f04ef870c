"""Slow references of the vocabulary curriculum, from the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Group = tuple[int, ...]


def groups(
    ids: Sequence[int],
    signal: Sequence[float],
    epsilon: float = 0.3,
    quantile: float | None = None,
    strict: bool = False,
    special: frozenset[int] = frozenset(),
) -> list[Group]:
    """Maximal runs: the first token is free; every later one is below the threshold and not above the one before."""
    if quantile is not None and signal:
        ordered = sorted(signal)
        place = quantile * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        epsilon = min(epsilon, ordered[low] + (ordered[high] - ordered[low]) * (place - low))
    found, current = list[Group](), list[int]()
    for i, token in enumerate(ids):
        falls = i > 0 and signal[i] < epsilon and (signal[i] < signal[i - 1] if strict else signal[i] <= signal[i - 1])
        if current and falls and token not in special:
            current.append(token)
            continue
        found.append(tuple(current))
        current = [] if token in special else [token]
    found.append(tuple(current))
    return [group for group in found if len(group) > 1]


def selected(found: Sequence[Group], most: int) -> list[tuple[Group, int]]:
    """Distinct groups and their counts: by count, then length, both falling, then in lexicographic order."""
    counted = Counter(found).items()
    return sorted(counted, key=lambda item: (-item[1], -len(item[0]), item[0]))[:most]


def expand(vocabulary: Mapping[int, str], taken: Sequence[Group]) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """Add all beginnings of all groups; returns the larger vocabulary, and each new id with its last token."""
    larger, made = dict(vocabulary), list[tuple[int, int]]()
    ids = {string: token for token, string in larger.items()}
    for group in taken:
        string = vocabulary[group[0]]
        for token in group[1:]:
            string += vocabulary[token]
            if string not in ids:
                new = max(larger) + 1
                larger[new], ids[string] = string, new
                made.append((new, token))
    return larger, made


def encode(text: Sequence[str], vocabulary: Mapping[int, str]) -> list[int]:
    """Fixpoint: take in what follows while all in between is in the vocabulary; then step back one."""
    ids = {string: token for token, string in vocabulary.items()}
    strings, place = list(text), 0
    while place < len(strings):
        end, joined = place + 1, strings[place]
        best = None
        while end < len(strings) and (joined := joined + strings[end]) in ids:
            end += 1
            best = end, joined
        if best is None:
            place += 1
        else:
            strings[place : best[0]] = [best[1]]
            place = max(0, place - 1)
    return [ids[string] for string in strings]
