"""What a split pattern says, as a tree that no dialect is left in."""

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
    """One character of a set. ``any_case``: written where case is ignored, and folded already."""

    points: CodePoints
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """What comes next, taken no part of.

    The next character is of ``points``; or the text ends and ``at_end``; or the next is a newline that ends the text
    and ``at_last_newline``.
    """

    points: CodePoints
    at_end: bool
    at_last_newline: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One after the other; nothing at all, where there are none."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that lets the whole match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Repeats from ``least`` to ``most`` times; ``None``: without end."""

    body: Node
    least: int
    most: int | None
    kind: Kind = "greedy"


@dataclass(frozen=True, slots=True)
class Atomic:
    """What the body matches first is not taken back."""

    body: Node


Node: TypeAlias = Characters | Ahead | Series | Choice | Repeat | Atomic

NOTHING = Series(())
END = Ahead(CodePoints(), at_end=True)
END_OR_LAST_NEWLINE = Ahead(CodePoints(), at_end=True, at_last_newline=True)
END_OF_LINE = Ahead(CodePoints.range(10, 10), at_end=True, at_last_newline=True)


def nullable(node: Node) -> bool:
    """Whether a node may match nothing."""
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
