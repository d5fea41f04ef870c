"""Parser of split patterns to trees. It refuses, with a reason, all that a dialect's engine may read otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyharness.vocabularies.patterns import syntax
from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.reader import Reader, posix_class

_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_OPERATORS: dict[str, Callable[[CodePoints, CodePoints], CodePoints]] = {
    "&&": CodePoints.__and__,
    "--": CodePoints.__sub__,
    "~~": CodePoints.__xor__,
    "||": CodePoints.__or__,
}
_OPERATORS_OF = {"oniguruma": ("&&",), "fancy_regex": ("&&", "--", "~~"), "regex": ("&&", "--", "~~", "||")}
DEEPEST = 50
_BOUNDS = re.compile(r"\{([0-9]{1,6})?(,)?([0-9]{1,6})?\}")
_NAME = re.compile(r"\?P?<[A-Za-z_][A-Za-z_0-9]*>")
_NEWLINE = CodePoints.range(10, 10)


@dataclass
class Brackets:
    """Reader of a character class, after its opening bracket.

    Args:
        reader: positioned in the class.
        any_case: case is ignored.
        nested: brackets inside open a class, and operators are known.
    """

    reader: Reader
    any_case: bool
    nested: bool

    def read(self, depth: int = 0) -> CodePoints:
        """Return the set of the class, and move past its closing bracket.

        Raises:
            Uncompilable: the class is empty, not closed or nested too deeply; or dialects, or versions of their
                engines, disagree on the syntax.
        """
        if depth > DEEPEST:
            raise syntax.Uncompilable("classes in classes without end")
        negated = self.reader.take("^")
        points, operator = self._operand(depth, first=True), ""
        while not self.reader.take("]"):
            sign = self.reader.next() + self.reader.next()
            if operator not in ("", sign):
                raise syntax.Uncompilable(f"{operator} and {sign} in one class")
            operator = sign
            points = _OPERATORS[operator](points, self._operand(depth, first=False))
        return ~points if negated else points

    def _operand(self, depth: int, *, first: bool) -> CodePoints:
        """Read adjacent items, up to an operator or the end."""
        points, written, start = CodePoints(), CodePoints(), True
        while self.reader.peek() != "]" and not self._at_operator():
            item = self._item(depth, edge=start)
            start = False
            if isinstance(item, int):
                written |= self._to(item)
            else:
                points |= item
        if start:
            raise syntax.Uncompilable("an empty class" if first else "an empty part of a class")
        return points | (self.reader.any_case(written, written_out=True) if self.any_case else written)

    def _at_operator(self) -> bool:
        pair = self.reader.peek(2)
        if pair not in _OPERATORS:
            return False
        if not self.nested or pair not in _OPERATORS_OF[self.reader.dialect]:
            raise syntax.Uncompilable(f"{pair} in a class")
        return True

    def _item(self, depth: int, *, edge: bool) -> CodePoints | int:
        if posix := self.reader.match(_POSIX):
            points = posix_class(posix[2], self.reader.dialect)
            return self._ignore_case(~points if posix[1] else points)
        character = self.reader.next()
        if character == "\\":
            meant = self.reader.escape(in_brackets=True)
            return meant if isinstance(meant, int) else self._ignore_case(meant)
        if character == "[" and self.nested:
            return Brackets(self.reader, self.any_case, self.nested).read(depth + 1)
        if character == "-" and not edge and self.reader.peek() != "]":
            raise syntax.Uncompilable("a hyphen between a range and something else")
        return ord(character)

    def _ignore_case(self, points: CodePoints) -> CodePoints:
        return self.reader.any_case(points, written_out=False) if self.any_case else points

    def _to(self, first: int) -> CodePoints:
        """Return the range that starts with a character, or the character alone."""
        pair = self.reader.peek(2)
        if not pair.startswith("-") or pair in ("-]", "--") or len(pair) < 2:
            return CodePoints.range(first, first)
        self.reader.next()
        last = self._item(0, edge=True)
        if not isinstance(last, int) or last < first:
            raise syntax.Uncompilable("a range that does not rise")
        return CodePoints.range(first, last)


def parse(expression: str, dialect: syntax.Dialect) -> syntax.Node:
    """Parse a pattern to a tree.

    Raises:
        Uncompilable: with the reason.
    """
    parser = _Parser(expression, dialect)
    node = parser.choice(0)
    if parser.reader.peek():
        raise syntax.Uncompilable("a parenthesis that closes nothing")
    return node


class _Parser:
    def __init__(self, expression: str, dialect: syntax.Dialect) -> None:
        self.reader = Reader(expression, dialect)
        self.any_case = self.reader.take("(?i)")
        # Version 1 of `regex` has set operations; the version follows from whether there are any.
        self.nested = dialect != "regex" or "&&" in expression

    def choice(self, depth: int) -> syntax.Node:
        """Parse alternatives, up to a closing parenthesis or the end."""
        if depth > DEEPEST:
            raise syntax.Uncompilable("groups in groups without end")
        options = [self._sequence(depth)]
        while self.reader.take("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else syntax.Choice(tuple(options))

    def _sequence(self, depth: int) -> syntax.Node:
        items: list[syntax.Node] = []
        while self.reader.peek() not in ("", "|", ")"):
            items.append(self._repeated(self._atom(depth)))
        return items[0] if len(items) == 1 else syntax.Series(tuple(items))

    def _atom(self, depth: int) -> syntax.Node:
        character = self.reader.next()
        if character == "(":
            return self._group(depth)
        if character == "[":
            points = Brackets(self.reader, self.any_case, self.nested).read()
            return syntax.Characters(points, self.any_case)
        if character == "\\":
            return self._escape()
        if character == ".":
            return syntax.Characters(~_NEWLINE)
        if character == "$":
            ends = {"fancy_regex": syntax.END, "oniguruma": syntax.END_OF_LINE, "regex": syntax.END_OR_LAST_NEWLINE}
            return ends[self.reader.dialect]
        if character in "*+?{^":
            raise syntax.Uncompilable("a repeat of nothing" if character != "^" else "^, which looks back")
        return self._literal(ord(character))

    def _literal(self, point: int) -> syntax.Node:
        points = CodePoints.range(point, point)
        if not self.any_case:
            return syntax.Characters(points)
        return syntax.Characters(self.reader.any_case(points, written_out=True), any_case=True)

    def _escape(self) -> syntax.Node:
        letter = self.reader.peek()
        if letter in ("z", "Z"):
            self.reader.next()
            if letter == "z" and self.reader.dialect != "regex":
                return syntax.END
            if letter == "Z" and self.reader.dialect != "fancy_regex":
                return syntax.END if self.reader.dialect == "regex" else syntax.END_OR_LAST_NEWLINE
            raise syntax.Uncompilable(f"the escape \\{letter}")
        meant = self.reader.escape(in_brackets=False)
        if isinstance(meant, int):
            return self._literal(meant)
        return syntax.Characters(self.reader.any_case(meant, written_out=False) if self.any_case else meant)

    def _group(self, depth: int) -> syntax.Node:
        if self.reader.take("?:") or self.reader.match(_NAME):
            return self._inside(depth, self.any_case)
        if self.reader.take("?i:"):
            return self._inside(depth, any_case=True)
        if self.reader.take("?-i:"):
            return self._inside(depth, any_case=False)
        if self.reader.take("?="):
            return _ahead(self._inside(depth, self.any_case), negated=False)
        if self.reader.take("?!"):
            return _ahead(self._inside(depth, self.any_case), negated=True)
        if self.reader.take("?>"):
            return syntax.Atomic(self._inside(depth, self.any_case))
        if self.reader.peek() in ("?", "*"):
            raise syntax.Uncompilable(f"the group ({self.reader.peek(3)}")
        return self._inside(depth, self.any_case)

    def _inside(self, depth: int, any_case: bool) -> syntax.Node:
        before, self.any_case = self.any_case, any_case
        node = self.choice(depth + 1)
        self.any_case = before
        if not self.reader.take(")"):
            raise syntax.Uncompilable("a parenthesis that is not closed")
        return node

    def _repeated(self, node: syntax.Node) -> syntax.Node:
        while self.reader.peek() in ("*", "+", "?", "{"):
            braces = self.reader.peek() == "{"
            least, most = self._bounds()
            kind = self._kind(braces, exact=least == most)
            if kind is None:  # Oniguruma's {n}?
                node, least, most, kind = _repeat(node, least, most, "greedy"), 0, 1, "greedy"
            node = _repeat(node, least, most, kind)
            if self.reader.peek() in ("*", "+", "?", "{") and not (braces and self.reader.dialect == "oniguruma"):
                raise syntax.Uncompilable("a repeat of a repeat")
        return node

    def _bounds(self) -> tuple[int, int | None]:
        if braces := self.reader.match(_BOUNDS):
            least, comma, most = braces.groups()
            if least is None and (most is None or self.reader.dialect == "fancy_regex"):
                raise syntax.Uncompilable("a brace that repeats nothing")
            bounds = int(least or 0), int(most) if most else None if comma else int(least or 0)
            if bounds[1] is not None and bounds[1] < bounds[0]:
                raise syntax.Uncompilable("a repeat whose bounds fall")
            return bounds
        character = self.reader.next()
        if character == "{":
            raise syntax.Uncompilable("a brace that repeats nothing")
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]

    def _kind(self, braces: bool, *, exact: bool) -> syntax.Kind | None:
        """Return the kind of repeat by what follows the bounds; None: Oniguruma's ``{n}?``, all of it or nothing."""
        if self.reader.take("?"):
            return None if braces and exact and self.reader.dialect == "oniguruma" else "lazy"
        # Oniguruma repeats the repeat where other engines are possessive.
        if not (braces and self.reader.dialect == "oniguruma") and self.reader.take("+"):
            return "possessive"
        return "greedy"


def _repeat(node: syntax.Node, least: int, most: int | None, kind: syntax.Kind) -> syntax.Node:
    if isinstance(node, syntax.Ahead):
        raise syntax.Uncompilable("a look-ahead that repeats")
    if most is not None and most <= 1:
        return syntax.NOTHING if most == 0 else node if least == 1 else syntax.Repeat(node, least, most, kind)
    if syntax.nullable(node):
        raise syntax.Uncompilable("a repeat of what may match nothing")
    return syntax.Repeat(node, least, most, kind)


def _ahead(node: syntax.Node, *, negated: bool) -> syntax.Ahead:
    """Return a look-ahead by one character, or by the end of the text."""
    seen = _next(node)
    if not negated:
        return seen
    return syntax.Ahead(~seen.points, not seen.at_end, not (seen.at_last_newline or 10 in seen.points))


def _next(node: syntax.Node) -> syntax.Ahead:
    if isinstance(node, syntax.Ahead):
        return node
    if isinstance(node, syntax.Characters):
        return syntax.Ahead(node.points, at_end=False, at_last_newline=10 in node.points)
    if isinstance(node, syntax.Repeat) and node.least == 1:
        return _next(node.body)
    if isinstance(node, syntax.Choice):
        parts = [_next(option) for option in node.options]
        points = CodePoints()
        for part in parts:
            points |= part.points
        return syntax.Ahead(points, any(part.at_end for part in parts), any(part.at_last_newline for part in parts))
    raise syntax.Uncompilable("a look-ahead by more than one character")
