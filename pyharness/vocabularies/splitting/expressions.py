"""Parses the part of regular-expression syntax that split patterns are written in, in the dialect of their engine.

What is read here means the same to the engine; anything else raises ``Unexaminable``. Leaves are sets of characters,
kept as expressions that match one character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

Dialect: TypeAlias = Literal["regex", "fancy_regex", "oniguruma"]  # of Python's package, tiktoken, tokenizers
LONGEST = 4096  # characters of an expression
MOST_COPIES = 64  # of what a counted repeat repeats
_FOLD_TOGETHER = ("ss", "st", "ff", "fi", "fl")  # to Oniguruma these match one ligature where case does not matter
_RUST_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]"


class Unexaminable(ValueError):
    """What an expression uses cannot be examined; the message says what."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    leaf: str


@dataclass(frozen=True, slots=True)
class InTurn:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that leads to a match."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From ``least`` to ``most`` times (None: no limit)."""

    item: Node
    least: int
    most: int | None
    mode: Literal["greedy", "lazy", "possessive"]


@dataclass(frozen=True, slots=True)
class Next:
    """Takes nothing: the next character is in the set (``negative``: is not, or the text ends)."""

    leaf: str
    negative: bool


@dataclass(frozen=True, slots=True)
class End:
    """Takes nothing: the text ends here, or with ``or_newline`` a line feed comes next."""

    or_newline: bool


Node: TypeAlias = Characters | InTurn | Choice | Repeat | Next | End


def parse(expression: str, dialect: Dialect) -> Node:
    """Read an expression.

    Raises:
        Unexaminable: it uses what cannot be examined, or is longer than ``LONGEST``.
    """
    if len(expression) > LONGEST:
        raise Unexaminable(f"an expression of more than {LONGEST:,} characters")
    parser = _Parser(expression, dialect)
    node = parser.choice(folded=False)
    if parser.at < len(expression):
        parser.refuse("a parenthesis that nothing opens")
    return node


class _Parser:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text, self.dialect, self.at = text, dialect, 0

    def refuse(self, what: str) -> NoReturn:
        raise Unexaminable(f"{what} at character {self.at} of the split pattern")

    def looking_at(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def choice(self, *, folded: bool) -> Node:
        items = [self.in_turn(folded=folded)]
        while self.looking_at("|"):
            items.append(self.in_turn(folded=folded))
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def in_turn(self, *, folded: bool) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.repeated(self.atom(folded=folded)))
            self.check_ligatures(items, folded=folded)
        return items[0] if len(items) == 1 else InTurn(tuple(items))

    def check_ligatures(self, items: list[Node], *, folded: bool) -> None:
        last = [item.leaf if isinstance(item, Characters) else "" for item in items[-2:]]
        if folded and self.dialect == "oniguruma" and "".join(leaf[4:5] for leaf in last).lower() in _FOLD_TOGETHER:
            self.refuse("letters that a ligature stands for, whatever their case,")

    def atom(self, *, folded: bool) -> Node:
        text = self.text
        if self.looking_at("("):
            return self.group(folded=folded)
        if self.looking_at("["):
            return Characters(_fold(self.bracket(), folded=folded))
        if self.looking_at("\\"):
            return self.escape(folded=folded)
        if self.looking_at("$"):
            if self.dialect == "regex":
                self.refuse("a dollar, which may stand before a last line feed,")
            return End(or_newline=self.dialect == "oniguruma")
        if self.looking_at("."):
            return Characters(r"[^\n]")
        if text[self.at] in "^*+?{":
            self.refuse(f"{text[self.at]!r}")
        self.at += 1
        return Characters(_fold(re.escape(text[self.at - 1]), folded=folded))

    def group(self, *, folded: bool) -> Node:
        for opening, negative in (("?=", False), ("?!", True)):
            if self.looking_at(opening):
                return self.next(negative=negative, folded=folded)
        if self.looking_at("?i:"):
            folded = True
        elif not self.looking_at("?:") and self.text.startswith("?", self.at):
            self.refuse("a group of a kind that is not known")
        node = self.choice(folded=folded)
        if not self.looking_at(")"):
            self.refuse("a group that does not end")
        return node

    def next(self, *, negative: bool, folded: bool) -> Node:
        node = self.choice(folded=folded)
        if not isinstance(node, Characters) or not self.looking_at(")"):
            self.refuse("looking ahead by more than one character")
        return Next(node.leaf, negative)

    def escape(self, *, folded: bool) -> Node:
        if found := re.compile(r"[pP]\{\^?\w+\}").match(self.text, self.at):
            self.at = found.end()
            if folded:
                self.refuse("a property where case does not matter")
            return Characters("\\" + found.group())
        if self.at == len(self.text):
            self.refuse("a backslash that ends the expression")
        letter = self.text[self.at]
        self.at += 1
        if letter in "sS":
            return Characters("\\" + letter)
        if letter in "dD":
            return Characters(r"\p{Nd}" if letter == "d" else r"\P{Nd}")
        if letter == "w" and self.dialect == "fancy_regex":
            return Characters(_RUST_WORD)
        if letter == "z" and self.dialect != "regex":
            return End(or_newline=False)
        if letter in "rnt":
            return Characters("\\" + letter)
        if letter.isalnum():
            self.refuse(f"the escape \\{letter}")
        return Characters(re.escape(letter))

    def bracket(self) -> str:
        """Return the set whose bracket has just been opened, as it stands."""
        start, depth = self.at - 1, 1
        while depth:
            if self.at >= len(self.text):
                self.refuse("a set that does not end")
            letter = self.text[self.at]
            self.at += 1
            if letter == "\\":
                self.check_escape_in_set()
            elif letter == "[":
                depth += 1
            elif letter == "]":
                depth -= 1
        found = self.text[start : self.at]
        if re.search(r"\[:|--|~~|\|\||\[\^?\]", found) or found.isspace():
            self.refuse("a set that engines read differently")
        return found

    def check_escape_in_set(self) -> None:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter.isalnum() and letter not in "pPsSrntd":
            self.refuse(f"the escape \\{letter} in a set")

    def repeated(self, item: Node) -> Node:
        while self.at < len(self.text) and self.text[self.at] in "*+?{":
            item = self.repeat(item)
        return item

    def repeat(self, item: Node) -> Node:
        if isinstance(item, (Next, End)):
            self.refuse("a repeat of what takes nothing")
        least, most = self.count()
        mode: Literal["greedy", "lazy", "possessive"] = "greedy"
        counted = self.text[self.at - 1] == "}"
        if counted and self.dialect == "oniguruma":  # to it, + and ? behind a count repeat what is counted
            if self.text.startswith("?", self.at):
                self.refuse("a count and a question mark")
        elif self.looking_at("?"):
            mode = "lazy"
        elif self.looking_at("+"):
            mode = "possessive"
        if mode == "possessive" and not isinstance(item, Characters):
            self.refuse("a possessive repeat of more than one character")
        return Repeat(item, least, most, mode)

    def count(self) -> tuple[int, int | None]:
        for sign, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.looking_at(sign):
                return limits
        found = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}").match(self.text, self.at)
        if found is None:
            self.refuse("a brace that is no count")
        self.at = found.end()
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if max(least, most or 0) > MOST_COPIES or (most is not None and (most < least or most == 0)):
            self.refuse(f"a count above {MOST_COPIES} or that allows nothing")
        return least, most


def _fold(leaf: str, *, folded: bool) -> str:
    return f"(?i:{leaf})" if folded else leaf
