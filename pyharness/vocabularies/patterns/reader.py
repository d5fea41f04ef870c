"""The text of a pattern, read from left to right: characters, escapes and numbers."""

from __future__ import annotations

import re

from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.escapes import CONTROLS, escaped_class, property_class
from pyharness.vocabularies.patterns.properties import folded, table
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable

_HEX = re.compile(r"x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_PROPERTY = re.compile(r"[pP](?:\{([^{}]{1,60})\}|([A-Z]))")
_TURKIC = {ord("i"): 0x130, ord("I"): 0x131}  # what `regex` adds to the other case


class Reader:
    """A place in a pattern."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text, self.dialect = text, dialect
        self.at = 0

    def peek(self, size: int = 1) -> str:
        """Return the next characters; fewer, or none, at the end."""
        return self.text[self.at : self.at + size]

    def take(self, expected: str) -> bool:
        """Go past a string if it comes next."""
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def next(self) -> str:
        """Go past one character and return it."""
        if self.at >= len(self.text):
            raise Uncompilable("it ends early")
        self.at += 1
        return self.text[self.at - 1]

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Go past what the expression matches here."""
        match = expression.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def escape(self, *, in_brackets: bool) -> CodePoints | int:
        """Read what a backslash before this place stands for: a set or one code point."""
        if number := self.match(_HEX):
            return self._number(number)
        if named := self.match(_PROPERTY):
            return self._property(named)
        letter = self.next()
        points = escaped_class(letter, self.dialect, in_brackets=in_brackets)
        if points is not None:
            return points
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter.isascii() and not letter.isalnum() and letter not in "<>":
            return ord(letter)
        raise Uncompilable(f"the escape \\{letter}")

    def _number(self, match: re.Match[str]) -> int:
        point = int(next(filter(None, match.groups())), 16)
        braces, two, _, eight = match.groups()
        foreign = (self.dialect == "regex" and braces) or (
            self.dialect == "oniguruma" and (eight or (point > 0x7F and two))
        )
        if foreign or point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise Uncompilable(f"the escape \\{match[0]}")
        return point

    def _property(self, match: re.Match[str]) -> CodePoints:
        if match[2] and self.dialect == "oniguruma":
            raise Uncompilable(f"the escape \\{match[0]}")
        points = property_class(match[1] or match[2], self.dialect)
        return ~points if match[0][0] == "P" else points

    def any_case(self, points: CodePoints, *, written_out: bool) -> CodePoints:
        """Return the set where case is ignored. ``written_out``: by single characters and ranges.

        Raises:
            Uncompilable: the dialect does not take it for its simple case folding.
        """
        every = folded(points)
        if not written_out:
            if every != points and self.dialect != "fancy_regex":
                raise Uncompilable("a property with case where case is ignored")
            return every
        if self.dialect != "regex":
            return every
        # U+1DF95 is of Unicode 17, and folds to U+00DF.
        odd = [point for point in (0x130, 0x131, 0xDF, 0x1E9E) if point in points]
        if odd:
            raise Uncompilable(f"U+{odd[0]:04X} where case is ignored")
        return every | CodePoints.of(other for point, other in _TURKIC.items() if point in points)


def full_foldings() -> tuple[tuple[CodePoints, ...], ...]:
    """Texts that one character is equal to where case is ignored, for engines that look at that."""
    return tuple(tuple(CodePoints.of([point]) for point in text) for text in table().full)
