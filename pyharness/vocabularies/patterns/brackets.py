"""Character classes in brackets, by dialect: ranges, negation, nested classes, intersections and differences."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.escapes import posix_class
from pyharness.vocabularies.patterns.reader import Reader
from pyharness.vocabularies.patterns.syntax import Uncompilable

_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_OPERATORS: dict[str, Callable[[CodePoints, CodePoints], CodePoints]] = {
    "&&": CodePoints.__and__,
    "--": CodePoints.__sub__,
    "~~": CodePoints.__xor__,
    "||": CodePoints.__or__,
}
_OPERATORS_OF = {"oniguruma": ("&&",), "fancy_regex": ("&&", "--", "~~"), "regex": ("&&", "--", "~~", "||")}
DEEPEST = 50


@dataclass
class Brackets:
    """Reads a class whose opening bracket is behind.

    Args:
        reader: where the class stands.
        any_case: case is ignored.
        nested: brackets inside open a class, and operators are known.
    """

    reader: Reader
    any_case: bool
    nested: bool

    def read(self, depth: int = 0) -> CodePoints:
        """Set of the class, past its closing bracket.

        Raises:
            Uncompilable: dialects, or versions of their engines, do not agree on what is written.
        """
        if depth > DEEPEST:
            raise Uncompilable("classes in classes without end")
        negated = self.reader.take("^")
        points, operator = self._operand(depth, first=True), ""
        while not self.reader.take("]"):
            sign = self.reader.next() + self.reader.next()
            if operator not in ("", sign):
                raise Uncompilable(f"{operator} and {sign} in one class")
            operator = sign
            points = _OPERATORS[operator](points, self._operand(depth, first=False))
        return ~points if negated else points

    def _operand(self, depth: int, *, first: bool) -> CodePoints:
        """Items side by side, up to an operator or the end."""
        points, written, start = CodePoints(), CodePoints(), True
        while self.reader.peek() != "]" and not self._at_operator():
            item = self._item(depth, edge=start)
            start = False
            if isinstance(item, int):
                written |= self._to(item)
            else:
                points |= item
        if start:
            raise Uncompilable("an empty class" if first else "an empty part of a class")
        return points | (self.reader.any_case(written, written_out=True) if self.any_case else written)

    def _at_operator(self) -> bool:
        pair = self.reader.peek(2)
        if pair not in _OPERATORS:
            return False
        if not self.nested or pair not in _OPERATORS_OF[self.reader.dialect]:
            raise Uncompilable(f"{pair} in a class")
        return True

    def _item(self, depth: int, *, edge: bool) -> CodePoints | int:
        if posix := self.reader.match(_POSIX):
            points = posix_class(posix[2], self.reader.dialect)
            return self._cased(~points if posix[1] else points)
        character = self.reader.next()
        if character == "\\":
            meant = self.reader.escape(in_brackets=True)
            return meant if isinstance(meant, int) else self._cased(meant)
        if character == "[" and self.nested:
            return Brackets(self.reader, self.any_case, self.nested).read(depth + 1)
        if character == "-" and not edge and self.reader.peek() != "]":
            raise Uncompilable("a hyphen between a range and something else")
        return ord(character)

    def _cased(self, points: CodePoints) -> CodePoints:
        return self.reader.any_case(points, written_out=False) if self.any_case else points

    def _to(self, first: int) -> CodePoints:
        """Range that starts with a character, or the character alone."""
        pair = self.reader.peek(2)
        if not pair.startswith("-") or pair in ("-]", "--") or len(pair) < 2:
            return CodePoints.range(first, first)
        self.reader.next()
        last = self._item(0, edge=True)
        if not isinstance(last, int) or last < first:
            raise Uncompilable("a range that does not rise")
        return CodePoints.range(first, last)
