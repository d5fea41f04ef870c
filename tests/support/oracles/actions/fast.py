"""Slow reference of FAST: cosine transform by its sum, rounding by Python, uniform bins, merging rule by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def dct2(x: Sequence[float]) -> list[float]:
    """Orthonormal DCT-II of one dimension."""
    n = len(x)
    sums = [sum(x[i] * math.cos(math.pi * (i + 0.5) * k / n) for i in range(n)) for k in range(n)]
    return [total * math.sqrt((1 if k == 0 else 2) / n) for k, total in enumerate(sums)]


def idct2(c: Sequence[float]) -> list[float]:
    """Inverse of ``dct2``."""
    n = len(c)
    scaled = [c[k] * math.sqrt((1 if k == 0 else 2) / n) for k in range(n)]
    return [sum(scaled[k] * math.cos(math.pi * (i + 0.5) * k / n) for k in range(n)) for i in range(n)]


def quantised(chunk: Sequence[Sequence[float]], scale: float = 10) -> list[int]:
    """Rounded coefficients of a chunk of T frames, lowest frequency of every dimension first."""
    columns = [dct2([row[d] for row in chunk]) for d in range(len(chunk[0]))]
    return [round(column[k] * scale) for k in range(len(chunk)) for column in columns]  # round: half to even


def restored(numbers: Sequence[int], frames: int, scale: float = 10) -> list[list[float]]:
    """Inverse of ``quantised`` but for the rounding."""
    dimensions = len(numbers) // frames
    columns = [idct2([numbers[k * dimensions + d] / scale for k in range(frames)]) for d in range(dimensions)]
    return [[column[i] for column in columns] for i in range(frames)]


def symbols(numbers: Sequence[int], minimum: int) -> list[int]:
    """What the authors' processor makes of coefficients: those below the minimum are clamped."""
    return [max(number - minimum, 0) for number in numbers]


def bins(chunk: Sequence[Sequence[float]], count: int = 256) -> list[int]:
    """Numbers of uniform bins, frame by frame."""
    return [min(count - 1, max(0, int((value + 1) / 2 * count))) for row in chunk for value in row]


def merged(ids: Sequence[int], rules: Sequence[Sequence[int]]) -> list[int]:
    """Apply the first rule that has its pair, everywhere from the left, until none has."""
    found = list(ids)
    while True:
        pairs = set(pairwise(found))
        rule = next((rule for rule in rules if (rule[0], rule[1]) in pairs), None)
        if rule is None:
            return found
        made: list[int] = []
        at = 0
        while at < len(found):
            here = tuple(found[at : at + 2]) == (rule[0], rule[1])
            made.append(rule[2] if here else found[at])
            at += 2 if here else 1
        found = made
