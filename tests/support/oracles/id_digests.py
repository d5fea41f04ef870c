"""Digests of ids, number by number: the definition that records keep to."""

from __future__ import annotations

from collections.abc import Sequence

BLOCK = 64
STEP = 0x9E3779B97F4A7C15


def mixed(value: int) -> int:
    """The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    value %= 1 << 64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % (1 << 64)
    return value ^ (value >> 31)


def factor(place: int) -> int:
    """Of 32 bits: the upper 25 from a generator, the lower 7 count odd numbers."""
    word = mixed((place + 1) * STEP)
    return ((word >> 39 << 7) % (1 << 32) + 1 + 2 * place) % (1 << 32)


def block_digest(ids: Sequence[int]) -> int:
    return sum(token * factor(place) for place, token in enumerate(ids)) % (1 << 32)


def blocks(ids: Sequence[int]) -> list[int]:
    return [block_digest(ids[start : start + BLOCK]) for start in range(0, len(ids), BLOCK)]


def document_digest(ids: Sequence[int], key: int) -> int:
    placed = sum(mixed(block + (number << 32)) for number, block in enumerate(blocks(ids)))
    return mixed(placed % (1 << 64) ^ mixed(key + len(ids) * STEP))


def total(documents: Sequence[Sequence[int]], keys: Sequence[int]) -> int:
    return sum(document_digest(ids, key) for ids, key in zip(documents, keys, strict=True)) % (1 << 64)
