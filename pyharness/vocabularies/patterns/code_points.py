"""Sets of code points, as the points where membership changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 0x110000


@dataclass(frozen=True, slots=True)
class CodePoints:
    """A set of code points below 0x110000.

    ``edges`` rise: points from an edge of even place up to the next edge are in the set, the others are not. An even
    number of edges; the last one may be 0x110000. Surrogates are no matter: text never has them.
    """

    edges: tuple[int, ...] = ()

    @classmethod
    def of(cls, points: Iterable[int]) -> CodePoints:
        """Set of single code points."""
        return reduce(CodePoints.__or__, (cls((point, point + 1)) for point in points), cls())

    @classmethod
    def range(cls, first: int, last: int) -> CodePoints:
        """Set of the code points from ``first`` to ``last``, both in it."""
        return cls((first, last + 1))

    def __or__(self, other: CodePoints) -> CodePoints:
        return _combined(self, other, np.logical_or)

    def __and__(self, other: CodePoints) -> CodePoints:
        return _combined(self, other, np.logical_and)

    def __sub__(self, other: CodePoints) -> CodePoints:
        return _combined(self, other, np.greater)

    def __xor__(self, other: CodePoints) -> CodePoints:
        return _combined(self, other, np.not_equal)

    def __invert__(self) -> CodePoints:
        return ALL - self

    def __contains__(self, point: int) -> bool:
        return bool(self.contains(np.array([point]))[0])

    def __bool__(self) -> bool:
        return bool(self.edges)

    def __len__(self) -> int:
        return sum(self.edges[1::2]) - sum(self.edges[::2])

    def contains(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool [points]: which of the code points are in the set."""
        edges_before = np.searchsorted(np.array(self.edges, np.int64), points, side="right")
        return np.asarray(edges_before % 2 == 1)


ALL = CodePoints((0, LIMIT))


@lru_cache(maxsize=1)
def every_character() -> str:
    """All characters that text can have, in order: surrogates are left out."""
    return "".join(map(chr, chain(range(0xD800), range(0xE000, LIMIT))))


def _combined(one: CodePoints, two: CodePoints, operation: Callable[[Any, Any], Any]) -> CodePoints:
    edges = np.union1d(np.array(one.edges, np.int64), np.array(two.edges, np.int64))
    inside = operation(one.contains(edges), two.contains(edges))
    return CodePoints(tuple(edges[inside != np.concatenate(([False], inside[:-1]))].tolist()))
