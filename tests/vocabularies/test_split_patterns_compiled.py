"""Compiled split patterns cut as the engines that they are written for."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cases.split_texts import LETTERS, table_of
from layout.thoroughness import examples
from oracles.split_engines import agrees, native_pieces
from oracles.splitting import NOTABLE, POINTS, needs_the_tables, stable
from published_patterns import EXPRESSIONS
from pyharness import _core
from pyharness.bpe import TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable
from pyharness.vocabularies.patterns.tables import compiled

SETS = (
    *("a", "b", "A", " ", r"\n", "1", "'", "s", "é", r"\s", r"\S", r"\d", r"\w", r"\W", ".", r"\p{L}", r"\p{Lu}"),
    *(r"\P{L}", r"\p{N}", r"\p{Han}", "[ab]", "[^a]", r"[^\s\p{L}]", "[a-z]", r"[\r\n]", r"[^\r\n\p{L}\p{N}]"),
)


OPERATIONS = (r"[a-z&&[^a]]", r"[\p{L}&&[^\p{Lu}]]", r"[\w&&[^b-d]]")


REPEATS = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}")


def patterns() -> st.SearchStrategy[str]:
    """Patterns of all that can be compiled, and of some that cannot."""
    sets = st.sampled_from((*SETS, *OPERATIONS))
    repeats = st.builds(lambda a, b: a + b if a else "", st.sampled_from(REPEATS), st.sampled_from(("", "", "?", "+")))
    ahead = st.builds("({}{})".format, st.sampled_from(("?=", "?!")), st.sampled_from(SETS)) | st.just("$")

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.builds("({}{})".format, st.sampled_from(("?:", "", "?i:", "?>")), inner)
        repeated = st.builds(str.__add__, st.one_of(sets, group), repeats)
        items = st.lists(st.one_of(repeated, repeated, repeated, ahead), min_size=1, max_size=3).map("".join)
        return st.lists(items, min_size=1, max_size=3).map("|".join)

    return st.recursive(larger(sets), larger, max_leaves=4)


TEXTS = st.lists(st.one_of(st.text(LETTERS, max_size=25), st.text(st.sampled_from("ab '\n1"), max_size=12)), max_size=6)


def check(expression: str, dialect: Dialect, texts: list[str]) -> None:
    try:
        table = compiled(expression, dialect)
    except Uncompilable:
        assume(False)
    same = agrees(expression, dialect)
    for text in texts:
        assert same(table, text), (expression, text, native_pieces(table, text))
        assert b"".join(native_pieces(table, text)) == text.encode()


RANDOM = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@settings(RANDOM, max_examples=examples(60))
@given(patterns(), TEXTS)
def test_random_patterns_as_regex(expression: str, texts: list[str]) -> None:
    check(expression, "regex", texts)


@settings(RANDOM, max_examples=examples(60))
@given(patterns(), TEXTS)
def test_random_patterns_as_tokenizers(expression: str, texts: list[str]) -> None:
    check(expression, "oniguruma", texts)


@settings(RANDOM, max_examples=25)
@given(patterns(), TEXTS)
def test_random_patterns_as_tiktoken(expression: str, texts: list[str]) -> None:
    check(expression, "fancy_regex", texts[:2])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from((*NOTABLE, *"abAB'sSt  123\n漢字"))).map("".join))
def test_published_patterns_as_their_engines(text: str) -> None:
    for name, (expression, dialect) in EXPRESSIONS.items():
        assert agrees(expression, dialect)(table_of(name), text), name


CONTEXTS = ("a{}A", " {} ", "1{}2", "!{}!", "\n{}\n", "'{}e", "{}'s", "中{}中", "  {}")


@needs_the_tables("tokenizers")
@pytest.mark.parametrize("name", ["kimi", "bloom", "clip"])
def test_code_points_in_context(name: str) -> None:
    expression, dialect = EXPRESSIONS[name]
    points = POINTS[::61]
    for context in CONTEXTS:
        text = "\x00\x00\n".join(context.format(point) for point in points)
        if dialect == "fancy_regex":  # the two engines agree on every code point, and one of them is quick
            table = compiled(expression, "oniguruma")
            assert np.array_equal(table.entries, table_of(name).entries)
            dialect = "oniguruma"
        assert agrees(expression, dialect)(table_of(name), text), context


@pytest.mark.parametrize("name", sorted(set(SPLIT_PATTERNS) - {"none", "digits_right_to_left"}))
def test_known_patterns_compile_to_what_their_rules_do(name: str) -> None:
    expressions = SPLIT_PATTERNS[name].expressions
    splitter = _core.CompiledSplitter([compiled(expression, "fancy_regex") for expression in expressions])
    texts = ["".join(NOTABLE), "it's 12345 DON'T  x\n\n  \t!!\n", "a \n", "中ABC'll\u0301 ア・"]
    for text in [*texts, "".join(filter(stable, POINTS[::53]))]:
        assert [ends.tolist() for ends in _core.split_texts(splitter, [text])] == [
            ends.tolist() for ends in _core.split_texts(name, [text])
        ], text


DIFFERENCES = [  # expression, text, pieces in `regex`, tiktoken's engine and Oniguruma; None: not compiled
    (r"\d{1,3}+", "12345", ["123", "45"], ["123", "45"], ["12345"]),
    (r"a$", "a\na\n", ["a\n", "a", "\n"], ["a\na\n"], ["a", "\n", "a", "\n"]),
    (r"\w+", "a²\u200db", ["a", "²", "\u200db"], ["a", "²", "\u200db"], ["a²", "\u200d", "b"]),
    (r"[\w]+", "a²b", ["a", "²", "b"], ["a", "²", "b"], ["a", "²", "b"]),
    (r"\h+", "ab\t", ["ab", "\t"], ["ab", "\t"], ["ab", "\t"]),
    (r"\h+", "a \tg", ["a", " \t", "g"], ["a", " \tg"], ["a", " \tg"]),
    (r"(?i:i)", "iİxıI", ["i", "İ", "xı", "I"], ["i", "İxı", "I"], ["i", "İxı", "I"]),
    (r"[[:alpha:]]+", "aé1", ["aé", "1"], ["a", "é1"], ["aé", "1"]),
    (r"[a[b]]+", "ab]]", ["a", "b]]"], ["ab", "]]"], ["ab", "]]"]),
    (r"\p{Script=Han}+", "a中", ["a", "中"], ["a", "中"], None),
    (r"(?i:ß)", "ßẞ", None, ["ß", "ẞ"], ["ß", "ẞ"]),
    (r"(?i:ss)", "sSß", ["sS", "ß"], ["sS", "ß"], None),  # Oniguruma takes ß for ss
    (r"a?", "ba", ["b", "a"], None, None),
    (r"a{,2}b", "aab", ["aab"], None, ["aab"]),
    (r"(?:ab){2}?", "ababab", ["abab", "ab"], ["abab", "ab"], None),
]


@pytest.mark.parametrize("dialect", ["regex", "fancy_regex", "oniguruma"])
@pytest.mark.parametrize("case", DIFFERENCES, ids=lambda case: f"{case[0]} {case[1]!r}")
def test_dialects(case: tuple[str, str, *tuple[list[str] | None, ...]], dialect: Dialect) -> None:
    expression, text = case[:2]
    expected = case[2 + ("regex", "fancy_regex", "oniguruma").index(dialect)]
    if expected is None:
        with pytest.raises(Uncompilable):
            compiled(expression, dialect)
        return
    table = compiled(expression, dialect)
    assert [piece.decode() for piece in native_pieces(table, text)] == expected
    assert agrees(expression, dialect)(table, text)


REASONS = {
    r"(a)\1": "the escape",
    r"(?<=a)b": "the group",
    r"^a": "looks back",
    r"\ba": "the escape",
    r"(?!ab)c": "more than one character",
    r"(?:ab)++c": "possessive repeat of more than one class",
    r"(?>ab|c)d": "atomic group of more than one class",
    r"(?:a*)*b": "may match nothing",
    r"(?:a{1000}){1000}": "more than 2,000 states",
    r"(?:a|b)*a(?:a|b){14}": "grows too large",
    "(" * 60 + "a" + ")" * 60: "groups in groups",
    r"\p{Klingon}": "not in the tables",
    "[a": "ends early",
    "a**": "repeat of a repeat",
    "(a": "not closed",
    "a)": "closes nothing",
}


@pytest.mark.parametrize("expression", REASONS)
def test_reasons(expression: str) -> None:
    begin = time.monotonic()
    for dialect in ("regex", "fancy_regex", "oniguruma"):
        if dialect == "oniguruma" and expression == "a**":
            continue
        with pytest.raises(Uncompilable, match=REASONS[expression]):
            compiled(expression, dialect)
    assert time.monotonic() - begin < 20


def test_the_regex_engine_takes_the_rest_and_says_why() -> None:
    splitter = TextSplitter(r"\b\w")
    assert (splitter.engine, splitter.native) == ("regex", None)
    assert "escape" in splitter.reason
    assert splitter.split("ab c") == [b"a", b"b ", b"c"]
    with pytest.raises(InputError, match="20,000"):
        TextSplitter("a" * 20_001)
