"""Classes that patterns name hold the code points that the engines put in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import regex
import tiktoken
from tokenizers import Regex, pre_tokenizers

from oracles.splitting import needs_the_tables, stable
from pyharness.vocabularies.patterns.code_points import ALL, CodePoints, cased, range_of, table
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.syntax import Characters, Dialect, Uncompilable

ESCAPES = [rf"\{letter}" for letter in "sdwSDW"] + [r"[\w]", r"[^\w]", r"[^\s\d]", ".", r"\h"]
POSIX = [f"[[:{name}:]]" for name in ("alpha", "upper", "lower", "space", "xdigit", "digit", "alnum", "punct")]
PROPERTIES = [rf"\p{{{name}}}" for _, name in table().sets if "tokenizers" not in name]
CASES = ["(?i:s)", "(?i:K)", "(?i:[a-z])", "(?i:[^a-z])", "(?i:ß)", "(?i:ǆ)", "(?i:[Σσ])", r"(?i:\p{Lu})", r"(?i:\w)"]
EXPRESSIONS = [*ESCAPES, *POSIX, *PROPERTIES[::23], r"\P{L}", r"\p{^L}", r"\p{Any}", r"\p{Cn}", r"\p{C}", *CASES]


def set_of(expression: str, dialect: Dialect) -> CodePoints:
    node = parse(expression, dialect)
    assert isinstance(node, Characters)
    return node.points


def at_edges(points: CodePoints) -> str:
    """Code points where membership changes, those before them, and some of all the others."""
    near = {*points.edges, *(edge - 1 for edge in points.edges), *range(0, 0x110000, 997)}
    return "".join(chr(point) for point in sorted(near) if 0 <= point < 0xD800 or 0xE000 <= point < 0x110000)


def members(points: CodePoints, text: str) -> set[str]:
    inside = points.contains(np.array([ord(character) for character in text]))
    return {character for character, found in zip(text, inside.tolist(), strict=True) if found}


def of_tiktoken(expression: str, text: str) -> set[str]:
    single = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("class", pat_str=expression, mergeable_ranks=single, special_tokens={})
    return set(bytes(encoding.encode_ordinary(text)).decode())


def of_tokenizers(expression: str, text: str) -> set[str]:
    split: Any = pre_tokenizers.Split(Regex(f"(?:{expression})+"), "removed", invert=True)
    return set("".join(piece for piece, _ in split.pre_tokenize_str(text)))


def of_regex(expression: str, text: str) -> set[str]:
    return set(regex.findall(expression, text))


@pytest.mark.parametrize(
    ("dialect", "engine"),
    [
        pytest.param("fancy_regex", of_tiktoken, marks=needs_the_tables("tiktoken")),
        pytest.param("oniguruma", of_tokenizers, marks=needs_the_tables("tokenizers")),
        ("regex", of_regex),
    ],
)
def test_sets(dialect: Dialect, engine: Callable[[str, str], set[str]]) -> None:
    for expression in EXPRESSIONS:
        try:
            points = set_of(expression, dialect)
        except Uncompilable:
            continue
        text = at_edges(points)
        if dialect == "regex":  # U+0295 became a lower case letter in Unicode 17
            text = "".join(character for character in text if stable(character) and character != "\u0295")
        assert engine(expression, text) == members(points, text), expression


def test_sets_that_are_left_to_the_engines() -> None:
    refused = dict.fromkeys(("regex", "fancy_regex", "oniguruma"), 0)
    for dialect in refused:
        for expression in EXPRESSIONS:
            try:
                parse(expression, dialect)  # type: ignore[arg-type]
            except Uncompilable:
                refused[dialect] += 1
    assert refused == {"regex": 5, "fancy_regex": 0, "oniguruma": 1}


def test_folding_is_symmetric_and_known_to_python() -> None:
    for orbit in set(table().orbits.values()):
        assert all(table().orbits[point] == orbit for point in orbit)
    assert table().orbits[ord("s")] == (0x53, 0x73, 0x17F)
    assert len(cased()) == len(table().orbits)
    for text in table().full:
        assert "".join(map(chr, text)).casefold() == "".join(map(chr, text))
    assert unicodedata.unidata_version <= "16.0.0" or table().full


def test_set_algebra() -> None:
    a, b = CodePoints((1, 5, 9, 12)), CodePoints((3, 10))
    every = range(20)
    for operation in ("__or__", "__and__", "__sub__", "__xor__"):
        found = getattr(CodePoints, operation)(a, b)
        members = getattr(set, operation)(set(range_of(a)), set(range_of(b)))
        assert {point for point in every if point in found} == members == set(range_of(found))
        assert len(found) == len(members)
    assert ~(~a) == a
    assert len(~a) == len(ALL) - len(a)
    assert not CodePoints()
