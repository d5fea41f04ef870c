"""Sets of code points, as the points where membership changes; and the sets that Unicode names.

Properties and case foldings are of one Unicode version for every dialect:
``csrc/core/splitting/generate_properties.py`` writes the table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from importlib.resources import files
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 0x110000
_GROUPS = {
    "l": ("letter", "lu ll lt lm lo"),
    "lc": ("casedletter", "lu ll lt"),
    "m": ("mark", "mn mc me"),
    "n": ("number", "nd nl no"),
    "p": ("punctuation", "pc pd ps pe pi pf po"),
    "s": ("symbol", "sm sc sk so"),
    "z": ("separator", "zs zl zp"),
}


@dataclass(frozen=True, slots=True)
class CodePoints:
    """A set of code points below 0x110000.

    ``edges`` rise: points from an edge of even index up to the next edge are in the set, the others are not. Their
    number is even; the last one may be 0x110000. Surrogates are ignored: text never has them.
    """

    edges: tuple[int, ...] = ()

    @classmethod
    def of(cls, points: Iterable[int]) -> CodePoints:
        """Return the set of single code points."""
        return reduce(CodePoints.__or__, (cls((point, point + 1)) for point in points), cls())

    @classmethod
    def range(cls, first: int, last: int) -> CodePoints:
        """Return the set of the code points from ``first`` to ``last``, both included."""
        return cls((first, last + 1))

    def __or__(self, other: CodePoints) -> CodePoints:
        return _combine(self, other, np.logical_or)

    def __and__(self, other: CodePoints) -> CodePoints:
        return _combine(self, other, np.logical_and)

    def __sub__(self, other: CodePoints) -> CodePoints:
        return _combine(self, other, np.greater)

    def __xor__(self, other: CodePoints) -> CodePoints:
        return _combine(self, other, np.not_equal)

    def __invert__(self) -> CodePoints:
        return ALL - self

    def __contains__(self, point: int) -> bool:
        return bool(self.contains(np.array([point]))[0])

    def __bool__(self) -> bool:
        return bool(self.edges)

    def __len__(self) -> int:
        return sum(self.edges[1::2]) - sum(self.edges[::2])

    def contains(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the code points are in the set: bool [points]."""
        return np.asarray(np.searchsorted(np.array(self.edges, np.int64), points, side="right") % 2 == 1)


ALL = CodePoints((0, LIMIT))


@lru_cache(maxsize=1)
def every_character() -> str:
    """Return all characters that text can have, in order, without surrogates."""
    return "".join(map(chr, chain(range(0xD800), range(0xE000, LIMIT))))


def _combine(one: CodePoints, two: CodePoints, operation: Callable[[Any, Any], Any]) -> CodePoints:
    edges = np.union1d(np.array(one.edges, np.int64), np.array(two.edges, np.int64))
    inside = operation(one.contains(edges), two.contains(edges))
    return CodePoints(tuple(edges[inside != np.concatenate(([False], inside[:-1]))].tolist()))


@dataclass(frozen=True, slots=True)
class Properties:
    """Sets by kind (``gc``, ``sc``, ``is``) and plain name; foldings by code point; full foldings as code points."""

    sets: Mapping[tuple[str, str], tuple[int, ...]]
    orbits: Mapping[int, tuple[int, ...]]
    full: tuple[tuple[int, ...], ...]


def plain(name: str) -> str:
    """Normalise a name: without case, spaces, underscores and hyphens."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


@cache
def table() -> Properties:
    """Read the table. About 10 ms, once."""
    sets: dict[tuple[str, str], tuple[int, ...]] = {}
    orbits: dict[int, tuple[int, ...]] = {}
    full: tuple[tuple[int, ...], ...] = ()
    text = files(__package__).joinpath("unicode_properties.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        kind, *rest = line.split(" ")
        if kind == "fold":
            orbit = tuple(map(int, rest))
            orbits.update(dict.fromkeys(orbit, orbit))
        elif kind == "full":
            full = tuple(tuple(map(int, points.split(","))) for points in rest)
        else:
            edges = tuple(accumulate(map(int, rest[1:])))
            sets.update({(kind, plain(name)): edges for name in rest[0].split("|")})
    return Properties(sets, orbits, full)


@cache
def named(kind: str, name: str) -> CodePoints | None:
    """Return the set of a plain name; ``gc``: general category, ``sc``: script, ``is``: binary property. Or None."""
    if kind == "gc":
        return _category(name)
    edges = table().sets.get((kind, name))
    return None if edges is None else CodePoints(edges)


def _category(name: str) -> CodePoints | None:
    parts = next((parts for short, (long, parts) in _GROUPS.items() if name in (short, long)), name)
    if name in ("cn", "unassigned"):
        return ~_union(key for kind, key in table().sets if kind == "gc")
    if name in ("c", "other"):
        return ~_union(part for _, group in _GROUPS.values() for part in group.split())
    edges = [table().sets.get(("gc", part)) for part in parts.split()]
    return None if None in edges else _union(parts.split())


def _union(names: Iterator[str] | list[str]) -> CodePoints:
    points = CodePoints()
    for name in set(names):
        points |= CodePoints(table().sets["gc", name])
    return points


@cache
def cased() -> CodePoints:
    """Return the code points that match another one when case is ignored."""
    return _of_sorted(sorted(table().orbits))


def folded(points: CodePoints) -> CodePoints:
    """Return the set with all characters that simple case folding makes equal to a member."""
    orbits = table().orbits
    added: set[int] = set()
    for point in range_of(points & cased()):
        added.update(orbits[point])
    return points | _of_sorted(sorted(added))


def range_of(points: CodePoints) -> Iterator[int]:
    """Yield every member."""
    for first, end in zip(points.edges[::2], points.edges[1::2], strict=True):
        yield from range(first, end)


def _of_sorted(points: list[int]) -> CodePoints:
    edges: list[int] = []
    for point in points:
        if edges and edges[-1] == point:
            edges[-1] = point + 1
        else:
            edges += (point, point + 1)
    return CodePoints(tuple(edges))


@cache
def script_of(character: str) -> str:
    """Return the name of a character's script; empty for characters that go with any.

    >>> script_of("k"), script_of("к"), script_of("日"), script_of("5"), script_of("\u0301")
    ('Latin', 'Cyrillic', 'Han', '', '')
    """
    held = [
        name for (kind, name), edges in table().sets.items() if kind == "sc" and bisect_right(edges, ord(character)) % 2
    ]
    # A short form such as Hani, for Han, has four letters.
    full = max(held, key=lambda name: (len(name) < 4, len(name)), default="")
    return "" if full in ("common", "inherited") else full.capitalize()
