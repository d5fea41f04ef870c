"""What changed between two definitions: tokens, ids, rules, scores, stages and added tokens; and the map of ids."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, eq=False)
class NewIds:
    """New id of each old one, int64 [old ids]: -1 where the token is gone or there was no token."""

    new: NDArray[np.int64]
    present: NDArray[np.bool_]  # [old ids]: there is such a token
    size: int  # number of new ids

    @property
    def moved(self) -> int:
        """Number of tokens that both have and whose ids differ: an embedding must re-map them."""
        return int(((self.new >= 0) & (self.new != np.arange(len(self.new)))).sum())

    @property
    def gone(self) -> int:
        """Number of tokens that the new side lacks."""
        return int((self.present & (self.new < 0)).sum())


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


def keys_of(one: Definition, other: Definition) -> tuple[Mapping[Key, int], Mapping[Key, int]]:
    """Return the tokens of both: as spelled in the files, or in decoded text if these spell differently."""
    return (one.tokens, other.tokens) if one.form == other.form else (one.by_bytes, other.by_bytes)


def overlap(one: Definition, other: Definition) -> Overlap:
    """Count the tokens that both have."""
    mine, theirs = keys_of(one, other)
    return Overlap(len(mine.keys() & theirs.keys()), len(mine), len(theirs))


def used_share(mine: Mapping[Key, int], theirs: Mapping[Key, int], use: NDArray[np.int64]) -> float:
    """Return the share of the use of one side's ids, int64 [ids] with some use, whose tokens the other side has."""
    common = [token for key, token in mine.items() if key in theirs and token < len(use)]
    return float(use[common].sum() / use.sum())


def id_map(one: Definition, other: Definition) -> NewIds:
    """Return the new id of each token of ``one``."""
    mine, theirs = keys_of(one, other)
    new = np.full(max(mine.values(), default=-1) + 1, GONE, np.int64)
    present = np.zeros(len(new), np.bool_)
    for key, token in mine.items():
        new[token], present[token] = theirs.get(key, GONE), True
    return NewIds(new, present, max(theirs.values(), default=-1) + 1)


def changes(one: Definition, other: Definition) -> list[Change]:
    """Return all differences, settings first. Without any, two definitions may still be written otherwise."""
    listed: list[Change] = []
    if one.kind != other.kind:
        listed.append(Change("kind of file", "file", one.kind, other.kind))
    elif one.form != other.form:
        listed.append(Change("kind of file", "spelling of tokens", one.form, other.form))
    if one.kind == other.kind:
        listed += _settings(one.settings, other.settings)
    listed += _added(one.added, other.added)
    listed += _tokens(*keys_of(one, other))
    if one.comparable(other):
        listed += [*_rules(one.rules, other.rules), *_scores(one.scores, other.scores)]
    return listed


def counts(listed: Sequence[Change]) -> dict[str, int]:
    """Count changes by kind, in their order."""
    return dict(Counter(change.kind for change in listed))


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


def _tokens(mine: Mapping[Key, int], theirs: Mapping[Key, int]) -> Iterator[Change]:
    for key, token in theirs.items():
        if key not in mine:
            yield Change("token added", shown(key[0]), None, token, key[0])
    for key, token in mine.items():
        if key not in theirs:
            yield Change("token gone", shown(key[0]), token, None, key[0])
    for key, token in mine.items():
        if theirs.get(key, token) != token:
            yield Change("id moved", shown(key[0]), token, theirs[key], key[0])


def _rules(mine: Sequence[Rule], theirs: Sequence[Rule]) -> Iterator[Change]:
    if mine == theirs:
        return
    old, new = ({rule: place for place, rule in enumerate(side)} for side in (mine, theirs))
    for rule in sorted(new.keys() - old.keys(), key=new.__getitem__):
        yield Change("rule added", _spelled(rule), None, new[rule], rule[0] + rule[1], rule)
    for rule in sorted(old.keys() - new.keys(), key=old.__getitem__):
        yield Change("rule gone", _spelled(rule), old[rule], None, rule[0] + rule[1], rule)
    for rule in out_of_order([rule for rule in old if rule in new], new):
        yield Change("rule moved", _spelled(rule), old[rule], new[rule], rule[0] + rule[1], rule)


def _spelled(rule: Rule) -> str:
    return f"{shown(rule[0])} + {shown(rule[1])}"


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


def _scores(mine: Mapping[Key, float], theirs: Mapping[Key, float]) -> Iterator[Change]:
    for key, score in mine.items():
        if theirs.get(key, score) != score:
            yield Change("score changed", shown(key[0]), score, theirs[key], key[0])
