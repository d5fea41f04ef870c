"""Slow reference of fast vocabulary transfer, from the definition: matrices are lists, sums are in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oracles.bpe import Rule, encode


def transferred(
    rows: Sequence[Sequence[float]], old: Mapping[int, bytes], rules: Sequence[Rule], new: Mapping[int, bytes]
) -> dict[int, list[float]]:
    """Rows of new tokens: copied where the old vocabulary has the string, or else the mean of what it writes for it."""
    ids = {data: token for token, data in old.items()}
    found: dict[int, list[float]] = {}
    for token, data in new.items():
        parts = [ids[data]] if data in ids else encode(list(data), rules)
        found[token] = [sum(column) / len(parts) for column in zip(*(rows[part] for part in parts), strict=True)]
    return found
