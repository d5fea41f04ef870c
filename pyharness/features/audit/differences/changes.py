"""What changed between two definitions: tokens, ids, rules, scores, stages and added tokens; and the map of ids."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness.features.audit.differences.definitions import PATTERN, Definition, Key, Rule, alternatives, expressions
from pyharness.vocabularies.huggingface.file import FLAGS, AddedToken

Kind: TypeAlias = Literal[
    "token added", "token gone", "id moved", "rule added", "rule gone", "rule moved", "score changed",
    "added token", "special flag", "added token flags", "normaliser", "split pattern", "post-processor", "decoder",
    "model option", "truncation", "padding", "kind of file",
]  # fmt: skip
_SETTINGS: tuple[Kind, ...] = (
    "normaliser", "split pattern", "post-processor", "decoder", "model option", "truncation", "padding",
)  # fmt: skip
MOST_LISTED = 1000  # changes of a kind that a vocabulary may have by the thousand; all are counted
_T = TypeVar("_T", bound=Hashable)
GONE = -1


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of two definitions. ``before`` and ``after`` are JSON values; None: absent on that side."""

    kind: Kind
    name: str  # the token, rule or setting, for people
    before: Any = None
    after: Any = None
    token: bytes | None = None  # spelling of the token, or of the result of the rule
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences of two definitions: settings and added tokens, and up to ``MOST_LISTED`` of each other kind."""

    listed: Sequence[Change]
    counts: Mapping[Kind, int]  # of all, in the order of the list


@dataclass(frozen=True, slots=True)
class Overlap:
    """Tokens that both have, of those of either, and of those of each side."""

    both: int
    first: int  # tokens of the first side
    second: int

    @property
    def jaccard(self) -> float:
        """Tokens of both, divided by tokens of either."""
        return self.both / max(self.first + self.second - self.both, 1)


@dataclass(frozen=True, slots=True, eq=False)
class NewIds:
    """New id of each old one, int64 [old ids]: -1 where the token is gone or there was no token."""

    new: NDArray[np.int64]
    present: NDArray[np.bool_]  # [old ids]: there is such a token
    size: int  # number of new ids
    overlap: Overlap

    @property
    def moved(self) -> int:
        """Number of tokens that both have and whose ids differ: an embedding must re-map them."""
        return int(((self.new >= 0) & (self.new != np.arange(len(self.new)))).sum())

    @property
    def gone(self) -> int:
        """Number of tokens that the new side lacks."""
        return int((self.present & (self.new < 0)).sum())

    def used_share(self, use: NDArray[np.int64]) -> float:
        """Return the share of the use of old ids, int64 [ids] with some use, whose tokens the new side has."""
        kept = np.flatnonzero(self.new >= 0)
        return float(use[kept[kept < len(use)]].sum() / use.sum())


def keys_of(one: Definition, other: Definition) -> tuple[Mapping[Key, int], Mapping[Key, int]]:
    """Return the tokens of both: as spelled in the files, or in decoded text if these spell differently."""
    return (one.tokens, other.tokens) if one.form == other.form else (one.by_bytes, other.by_bytes)


def id_map(one: Definition, other: Definition) -> NewIds:
    """Return the new id of each token of ``one``."""
    mine, theirs = keys_of(one, other)
    old, size = np.fromiter(mine.values(), np.int64, len(mine)), max(theirs.values(), default=-1) + 1
    new = np.full(old.max(initial=-1) + 1, GONE, np.int64)
    new[old] = partners = np.fromiter(map(theirs.get, mine, itertools.repeat(GONE)), np.int64, len(mine))
    present = np.zeros(len(new), np.bool_)
    present[old] = True
    return NewIds(new, present, size, Overlap(int((partners >= 0).sum()), len(mine), len(theirs)))


def changes(one: Definition, other: Definition) -> Changes:
    """Return all differences, settings first. Without any, two definitions may still be written otherwise."""
    listed: list[Change] = []
    if one.kind != other.kind:
        listed.append(Change("kind of file", "file", one.kind, other.kind))
    elif one.form != other.form:
        listed.append(Change("kind of file", "spelling of tokens", one.form, other.form))
    if one.kind == other.kind:
        listed += _settings(one.settings, other.settings)
    listed += _added(one.added, other.added)
    counts = Counter(change.kind for change in listed)
    for kind, keys, before, after in _of_vocabularies(one, other):
        counts[kind] += len(keys)
        listed += (_change(kind, key, before.get(key), after.get(key)) for key in keys[:MOST_LISTED])
    return Changes(listed, +counts)


def shown(token: bytes) -> str:
    """Return a spelling for people."""
    return token.decode("utf-8", "backslashreplace")


def _settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    for kind in _SETTINGS:
        before, after = one.get(kind), other.get(kind)
        if before == after:
            continue
        if kind == PATTERN and (parts := _alternatives(before, after)) is not None:
            yield Change(kind, "alternatives", *parts)
        elif isinstance(before, dict) and isinstance(after, dict):
            for key in sorted(before.keys() | after.keys()):
                if before.get(key) != after.get(key):
                    yield Change(kind, key, before.get(key), after.get(key))
        else:
            yield Change(kind, kind, before, after)


def _alternatives(before: Any, after: Any) -> tuple[list[str], list[str]] | None:
    """Return the alternatives of the split patterns that only one side has; None if something else differs."""
    mine, theirs = (
        Counter(part for expression in expressions(side) for part in alternatives(expression))
        for side in (before, after)
    )
    gone, new = mine - theirs, theirs - mine
    return (sorted(gone.elements()), sorted(new.elements())) if gone or new else None


def _added(one: Mapping[str, AddedToken], other: Mapping[str, AddedToken]) -> Iterator[Change]:
    for content in sorted(one.keys() | other.keys()):
        before, after = one.get(content), other.get(content)
        if before is None or after is None:
            yield Change("added token", content, _flags(before), _flags(after), content.encode())
            continue
        flags = [flag for flag in FLAGS if getattr(before, flag) != getattr(after, flag)]
        for special in (True, False):
            if changed := [flag for flag in flags if (flag == "special") == special]:
                old, new = ({flag: getattr(side, flag) for flag in changed} for side in (before, after))
                yield Change("special flag" if special else "added token flags", content, old, new, content.encode())


def _flags(token: AddedToken | None) -> dict[str, Any] | None:
    return None if token is None else {"id": token.id, **{flag: getattr(token, flag) for flag in FLAGS}}


def _of_vocabularies(one: Definition, other: Definition) -> Iterator[tuple[Kind, Sequence[Any], Any, Any]]:
    """Yield the tokens, rules and scores that differ, by kind, and the values of both sides by token or rule."""
    mine, theirs = keys_of(one, other)
    yield "token added", [key for key in theirs if key not in mine], mine, theirs
    yield "token gone", [key for key in mine if key not in theirs], mine, theirs
    yield "id moved", [key for key, token in mine.items() if theirs.get(key, token) != token], mine, theirs
    if not one.comparable(other):
        return
    if one.rules != other.rules:
        old, new = ({rule: place for place, rule in enumerate(side.rules)} for side in (one, other))
        yield "rule added", sorted(new.keys() - old.keys(), key=new.__getitem__), old, new
        yield "rule gone", sorted(old.keys() - new.keys(), key=old.__getitem__), old, new
        yield "rule moved", out_of_order([rule for rule in old if rule in new], new), old, new
    scores = [key for key, score in one.scores.items() if other.scores.get(key, score) != score]
    yield "score changed", scores, one.scores, other.scores


def _change(kind: Kind, key: Key | Rule, before: Any, after: Any) -> Change:
    if isinstance(key[1], int):
        return Change(kind, shown(key[0]), before, after, key[0])
    return Change(kind, f"{shown(key[0])} + {shown(key[1])}", before, after, key[0] + key[1], (key[0], key[1]))


def out_of_order(items: Sequence[_T], places: Mapping[_T, int]) -> list[_T]:
    """Return the fewest items whose removal leaves the others in ascending order of their places.

    They are those outside of a longest increasing subsequence (patience sorting).

    >>> out_of_order("abcd", {"a": 0, "b": 2, "c": 1, "d": 3})
    ['b']
    """
    tails: list[int] = []  # the smallest last place of an increasing run of each length
    ends: list[int] = []  # the number of the item that ends it
    before: list[int] = []
    for number, item in enumerate(items):
        at = bisect_left(tails, places[item])
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1], ends[at : at + 1] = [places[item]], [number]
    kept, number = set(), ends[-1] if ends else -1
    while number >= 0:
        kept.add(number)
        number = before[number]
    return [item for number, item in enumerate(items) if number not in kept]
