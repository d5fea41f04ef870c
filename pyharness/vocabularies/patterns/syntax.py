"""Syntax trees of split patterns, independent of dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyharness.vocabularies.patterns.code_points import CodePoints

Dialect: TypeAlias = Literal["fancy_regex", "oniguruma", "regex"]
Kind: TypeAlias = Literal["greedy", "lazy", "possessive"]


class Uncompilable(Exception):
    """A pattern cannot be run by tables; the message is the reason, in a few words."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set. ``any_case``: case is ignored, and the set is already folded."""

    points: CodePoints
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """A condition on the next symbol, which is not part of the match.

    The next character is of ``points``; or the text ends and ``at_end``; or the next is a newline that ends the text
    and ``at_last_newline``.
    """

    points: CodePoints
    at_end: bool
    at_last_newline: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A sequence of nodes; empty: the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first alternative with which the whole matches."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From ``least`` to ``most`` repetitions; ``None``: no upper bound."""

    body: Node
    least: int
    most: int | None
    kind: Kind = "greedy"


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first match of the body is final: no backtracking into it."""

    body: Node


Node: TypeAlias = Characters | Ahead | Series | Choice | Repeat | Atomic

NOTHING = Series(())
END = Ahead(CodePoints(), at_end=True)
END_OR_LAST_NEWLINE = Ahead(CodePoints(), at_end=True, at_last_newline=True)
END_OF_LINE = Ahead(CodePoints.range(10, 10), at_end=True, at_last_newline=True)


def nullable(node: Node) -> bool:
    """Return whether a node may match the empty text."""
    if isinstance(node, Characters):
        return False
    if isinstance(node, Ahead):
        return True
    if isinstance(node, Series):
        return all(map(nullable, node.items))
    if isinstance(node, Choice):
        return any(map(nullable, node.options))
    if isinstance(node, Repeat):
        return node.least == 0 or nullable(node.body)
    return nullable(node.body)
