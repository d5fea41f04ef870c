"""Reader of a pattern's text from left to right: characters, escapes, numbers, and named classes.

The meaning of each class in each dialect was measured on every code point with tiktoken 0.14, tokenizers 0.23 and
``regex``; ``tests/vocabularies/test_split_pattern_sets.py`` repeats this.
"""

from __future__ import annotations

import re
from functools import cache

from pyharness.vocabularies.patterns.code_points import ALL, CodePoints, folded, named, plain, table
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable

ASCII = CodePoints.range(0, 0x7F)
_HEX_DIGITS = CodePoints((0x30, 0x3A, 0x41, 0x47, 0x61, 0x67))
CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}  # common to all dialects
_HEX = re.compile(r"x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_PROPERTY = re.compile(r"[pP](?:\{([^{}]{1,60})\}|([A-Z]))")
_TURKIC = {ord("i"): 0x130, ord("I"): 0x131}  # what each matches in `regex`, too, where case is ignored


def category(name: str) -> CodePoints:
    """Return the set of an existing general category."""
    return _existing("gc", name)


def binary(name: str) -> CodePoints:
    """Return the set of an existing binary property."""
    return _existing("is", name)


def _existing(kind: str, name: str) -> CodePoints:
    points = named(kind, name)
    if points is None:
        raise KeyError(name)
    return points


@cache
def escaped_class(letter: str, dialect: Dialect, *, in_brackets: bool) -> CodePoints | None:
    """Return the set of ``\\s``, ``\\d``, ``\\w`` or ``\\h`` (upper case: the complement); None: no such set."""
    if letter in "SDW" or (letter == "H" and dialect != "regex"):
        points = escaped_class(letter.lower(), dialect, in_brackets=in_brackets)
        return None if points is None else ~points
    if letter == "s":
        return binary("whitespace")
    if letter == "d":
        return category("nd")
    if letter == "w":
        word = binary("alphabetic") | category("m") | category("nd") | category("pc")
        if dialect != "oniguruma":
            return word | binary("joincontrol")
        # Outside brackets, Oniguruma's table for Latin-1 decides; it includes the six numbers that are not digits.
        return word if in_brackets else word | CodePoints.of([0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE])
    if letter == "h":
        return category("zs") | CodePoints.of([9]) if dialect == "regex" else _HEX_DIGITS
    return None


def property_class(text: str, dialect: Dialect) -> CodePoints:
    """Return the set of a property, by the name between the braces of ``\\p{...}``.

    Raises:
        Uncompilable: it is not in the table.
    """
    negated, name = text.startswith("^"), text.removeprefix("^")
    points = _property(name, dialect)
    if points is None:
        raise Uncompilable(f"the property {name[:40]!r} is not in the tables")
    return ~points if negated else points


def _property(name: str, dialect: Dialect) -> CodePoints | None:
    key, equals, value = (plain(part) for part in name.replace(":", "=").partition("="))
    if equals:
        kinds = {"gc": "gc", "generalcategory": "gc", "sc": "sc", "script": "sc"}
        return named(kinds[key], value) if key in kinds and dialect != "oniguruma" else None
    special = {"any": ALL, "ascii": ASCII, "punct": category("p"), "assigned": ~category("cn")}
    if key in special:
        return special[key]
    for kind in ("gc", "sc", "is"):
        points = named(kind, key)
        if points is not None:
            return points
    return None


@cache
def posix_class(name: str, dialect: Dialect) -> CodePoints:
    """Return the set of ``[:name:]`` inside brackets.

    Raises:
        Uncompilable: it is unknown, or dialects differ too much about it.
    """
    letters, digits = binary("alphabetic"), category("nd")
    sets = {
        "alpha": letters,
        "upper": binary("uppercase"),
        "lower": binary("lowercase"),
        "space": binary("whitespace"),
        "xdigit": _HEX_DIGITS,
    }
    if dialect != "regex":
        sets |= {"digit": digits, "alnum": letters | digits, "punct": category("p") | category("s")}
    if name not in sets:
        raise Uncompilable(f"the class [:{name[:20]}:]")
    points = sets[name]
    return points & ASCII if dialect == "fancy_regex" else points


class Reader:
    """A position in a pattern."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text, self.dialect = text, dialect
        self.at = 0

    def peek(self, size: int = 1) -> str:
        """Return the next characters; fewer, or none, at the end."""
        return self.text[self.at : self.at + size]

    def take(self, expected: str) -> bool:
        """Move past a string if it comes next, and return whether it does."""
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def next(self) -> str:
        """Move past one character and return it.

        Raises:
            Uncompilable: the pattern ends here.
        """
        if self.at >= len(self.text):
            raise Uncompilable("it ends early")
        self.at += 1
        return self.text[self.at - 1]

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Move past what the expression matches here, and return the match, or None."""
        match = expression.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def escape(self, *, in_brackets: bool) -> CodePoints | int:
        """Read the escape after a backslash: a set or one code point.

        Raises:
            Uncompilable: the escape is unknown, or dialects differ about it.
        """
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
        """Return the set where case is ignored. ``written_out``: written as single characters and ranges.

        Raises:
            Uncompilable: the dialect does not use simple case folding for it.
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
    """Return the texts that equal one character where case is ignored, for engines with full case folding."""
    return tuple(tuple(CodePoints.of([point]) for point in text) for text in table().full)
