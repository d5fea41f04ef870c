"""Character classes that a backslash, a property or a POSIX bracket names, by dialect.

Measured on every code point with tiktoken 0.14, tokenizers 0.23 and ``regex``;
``tests/vocabularies/test_split_pattern_sets.py`` asks them again.
"""

from __future__ import annotations

from functools import cache

from pyharness.vocabularies.patterns.code_points import ALL, CodePoints
from pyharness.vocabularies.patterns.properties import named, plain
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable

ASCII = CodePoints.range(0, 0x7F)
_HEX_DIGITS = CodePoints((0x30, 0x3A, 0x41, 0x47, 0x61, 0x67))
CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}  # of every dialect


def category(name: str) -> CodePoints:
    """Set of a general category that exists."""
    return _existing("gc", name)


def binary(name: str) -> CodePoints:
    """Set of a binary property that exists."""
    return _existing("is", name)


def _existing(kind: str, name: str) -> CodePoints:
    points = named(kind, name)
    if points is None:
        raise KeyError(name)
    return points


@cache
def escaped_class(letter: str, dialect: Dialect, *, in_brackets: bool) -> CodePoints | None:
    """Set of ``\\s``, ``\\d``, ``\\w`` or ``\\h`` (in upper case: all others); None: the letter names no set."""
    if letter in "SDW" or (letter == "H" and dialect != "regex"):
        points = escaped_class(letter.lower(), dialect, in_brackets=in_brackets)
        return None if points is None else ~points
    if letter == "s":
        return binary("whitespace")
    if letter == "d":
        return category("nd")
    if letter == "w":
        return _word(dialect, in_brackets=in_brackets)
    if letter == "h":
        return category("zs") | CodePoints.of([9]) if dialect == "regex" else _HEX_DIGITS
    return None


def _word(dialect: Dialect, *, in_brackets: bool) -> CodePoints:
    word = binary("alphabetic") | category("m") | category("nd") | category("pc")
    if dialect != "oniguruma":
        return word | binary("joincontrol")
    # Outside brackets, Oniguruma's table for Latin-1 decides, which has the six numbers that are no digits.
    return word if in_brackets else word | CodePoints.of([0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE])


def property_class(text: str, dialect: Dialect) -> CodePoints:
    """Set of a property, by the name between the braces of ``\\p{...}``.

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
    """Set of ``[:name:]`` inside brackets.

    Raises:
        Uncompilable: dialects differ too much about it.
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
