"""Compiled split patterns cut as the engine of their dialect does: random patterns, published ones, any text."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
import regex
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from made_words import model
from oracles.split_engines import agrees, native_matches, native_pieces
from oracles.splitting import NOTABLE, POINTS, needs_the_tables, stable
from published_patterns import BLOOM, CLIP, EXPRESSIONS
from pyharness import _core
from pyharness.bpe import PieceCounter, TextEncoder, TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.patterns.syntax import Dialect, Unsupported
from pyharness.vocabularies.patterns.tables import SplitTable, compiled
from pyharness.vocabularies.ranks.encodings import KIMI

# ------------------------------------------------------------------------------------------ random patterns

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


LETTERS = st.sampled_from("aabbAB  \n\n\r'ss11SK中é.ſ\u0301_-")
TEXTS = st.lists(st.one_of(st.text(LETTERS, max_size=25), st.text(st.sampled_from("ab '\n1"), max_size=12)), max_size=6)


def check(expression: str, dialect: Dialect, texts: list[str]) -> None:
    try:
        table = compiled(expression, dialect)
    except Unsupported:
        assume(False)
    same = agrees(expression, dialect)
    for text in texts:
        assert same(table, text), (expression, text, native_pieces(table, text))
        assert b"".join(native_pieces(table, text)) == text.encode()


RANDOM = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@settings(RANDOM, max_examples=60)
@given(patterns(), TEXTS)
def test_random_patterns_as_regex(expression: str, texts: list[str]) -> None:
    check(expression, "regex", texts)


@settings(RANDOM, max_examples=60)
@given(patterns(), TEXTS)
def test_random_patterns_as_tokenizers(expression: str, texts: list[str]) -> None:
    check(expression, "oniguruma", texts)


@settings(RANDOM, max_examples=25)
@given(patterns(), TEXTS)
def test_random_patterns_as_tiktoken(expression: str, texts: list[str]) -> None:
    check(expression, "fancy_regex", texts[:2])


# ------------------------------------------------------------------------------------------ published patterns


@cache
def table_of(name: str) -> SplitTable:
    return compiled(*EXPRESSIONS[name])


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


@pytest.mark.parametrize("name", [name for name, known in SPLIT_PATTERNS.items() if name != "none"])
def test_known_patterns_compile_to_what_their_rules_do(name: str) -> None:
    expressions = SPLIT_PATTERNS[name].expressions
    splitter = _core.CompiledSplitter([compiled(expression, "fancy_regex") for expression in expressions])
    texts = ["".join(NOTABLE), "it's 12345 DON'T  x\n\n  \t!!\n", "a \n", "中ABC'll\u0301 ア・"]
    for text in [*texts, "".join(filter(stable, POINTS[::53]))]:
        assert [ends.tolist() for ends in _core.split_texts(splitter, [text])] == [
            ends.tolist() for ends in _core.split_texts(name, [text])
        ], text


# ------------------------------------------------------------------------------------------ dialects

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
        with pytest.raises(Unsupported):
            compiled(expression, dialect)
        return
    table = compiled(expression, dialect)
    assert [piece.decode() for piece in native_pieces(table, text)] == expected
    assert agrees(expression, dialect)(table, text)


# ------------------------------------------------------------------------------------------ what is not compiled

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
        with pytest.raises(Unsupported, match=REASONS[expression]):
            compiled(expression, dialect)
    assert time.monotonic() - begin < 20


def test_the_regex_engine_takes_the_rest_and_says_why() -> None:
    splitter = TextSplitter(r"\b\w")
    assert (splitter.engine, splitter.native) == ("regex", None)
    assert "escape" in splitter.reason
    assert splitter.split("ab c") == [b"a", b"b ", b"c"]
    with pytest.raises(InputError, match="the most are 20,000"):
        TextSplitter("a" * 20_001)


def test_a_pattern_that_doubles_the_ways_is_linear_here() -> None:
    table = compiled("(?:x+x+)+y", "regex")
    begin = time.monotonic()
    assert native_pieces(table, "x" * 2000 + "y") == [b"x" * 2000 + b"y"]
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("text", [" " * 1_000_000, " " * 999_999 + "x", "\n " * 500_000, "a" * 1_000_000])
def test_long_runs_take_no_time(text: str) -> None:
    for expression in (KIMI, SPLIT_PATTERNS["cl100k"].expressions[0], CLIP, BLOOM):
        begin = time.process_time()
        assert b"".join(native_pieces(compiled(expression, "oniguruma"), text)) == text.encode()
        assert time.process_time() - begin < 2


def test_looking_far_ahead_in_vain_ends() -> None:
    table = compiled("a*b|a", "regex")
    assert native_pieces(table, "a" * 300) == [b"a"] * 300
    splitter = TextSplitter("a*b|a")
    with pytest.raises(InputError, match="goes back over this text again and again"):
        splitter.split("a" * 200_000)
    with pytest.raises(InputError, match="again and again"):
        PieceCounter(splitter).add(["a" * 200_000])
    encoder = TextEncoder(model(), splitter)
    with pytest.raises(InputError, match="again and again"):
        encoder.encode_batch(["a" * 200_000])
    with pytest.raises(InputError, match="again and again"):
        encoder.encode("a" * 200_000)


# ------------------------------------------------------------------------------------------ bytes, batches, tables


BYTES = st.lists(st.one_of(st.text(LETTERS, max_size=9).map(str.encode), st.binary(max_size=6)), max_size=5)


@settings(max_examples=100, deadline=None)
@given(BYTES.map(b"".join))
def test_invalid_utf8_splits_as_replacement_characters(data: bytes) -> None:
    for name in ("kimi", "bloom", "clip"):
        pieces = native_pieces(table_of(name), data)
        assert b"".join(pieces) == data
        replaced = [piece.decode() for piece in native_pieces(table_of(name), data.decode(errors="replace"))]
        assert [piece.decode(errors="replace") for piece in pieces] == replaced


def test_many_pieces_and_gaps() -> None:
    text = "a1 b22  c333\n" * 500 + "--" * 700 + "x"
    for expression in (r"\w+", r"\d+?", "[^a]", r"(?!-)\W+|\w", "--x", "-+x"):
        table = compiled(expression, "regex")
        assert agrees(expression, "regex")(table, text)
        assert native_matches(table, text) == [match[0].encode() for match in regex.finditer(expression, text)]


def test_encoder_and_counter_take_compiled_patterns() -> None:
    splitter = TextSplitter(KIMI, dialect="fancy_regex")
    assert splitter.engine == "compiled"
    texts: list[str | bytes] = ["Hello WORLD it's 12345", "漢字かな abc", b"ab\xff c", ""]
    encoder = TextEncoder(model(), splitter)
    pieces = splitter.split_batch(texts, threads=3)
    for threads in (1, 3):
        got = encoder.encode_batch(texts, threads)
        assert np.array_equal(got.ids, encoder.encode_pieces(texts, pieces).ids)
    counter = PieceCounter(splitter)
    counter.add(texts, threads=2)
    assert sum(counter.pieces().weights.tolist()) == len(pieces.ends)


def broken(**changes: object) -> SplitTable:
    table = compiled("[ab]+", "regex")
    return SplitTable(**{**{name: getattr(table, name) for name in table.__slots__}, **changes})


BROKEN = [
    ("needs 3 to 258 symbols", {"symbols": 2}),
    ("entries are no rows", {"entries": np.zeros(7, np.uint32)}),
    ("a row is out of range", {"entries": np.full(16, 99 << 3, np.uint32)}),
    ("a piece ends where it starts", {"entries": np.full(16, 1 << 3 | 2, np.uint32)}),
    ("classes are not whole blocks", {"classes": np.zeros(65, np.uint8)}),
    ("a class is no symbol", {"classes": np.full(64 * 8, 7, np.uint8)}),
    ("a block has no classes", {"blocks": np.full(0x110000 // 64, 99, np.uint16)}),
    ("do not cover", {"blocks": np.zeros(3, np.uint16)}),
    ("classes of bytes are not 256", {"blocks": np.zeros(0, np.uint16)}),
    ("unknown part", {"removed": "all"}),
]


@pytest.mark.parametrize(("message", "changes"), BROKEN)
def test_broken_tables_are_refused(message: str, changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=message):
        _core.CompiledSplitter([broken(**changes)])


def test_none_and_removing_tables() -> None:
    with pytest.raises(ValueError, match="there is none"):
        _core.CompiledSplitter([])
    removing = _core.CompiledSplitter([broken(removed="gaps")])
    with pytest.raises(ValueError, match="leaves out text"):
        _core.split_texts(removing, ["ab"])
    with pytest.raises(ValueError, match="leaves out text"):
        _core.TextEncoder(model(), removing, False, None, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.text(LETTERS, max_size=60))
def test_tables_of_any_numbers_are_refused_or_cut_the_text(seed: int, text: str) -> None:
    """Numbers that are mostly in range, or else every table would be refused."""
    random = np.random.default_rng(seed)
    rows, classes = int(random.integers(3, 7)), int(random.integers(1, 4))
    entries = random.integers(0, rows, (rows, classes + 2)) << 3 | random.integers(0, 3, (rows, classes + 2))
    entries[entries < 8] = 0
    entries[0] = 0
    entries[1:3] = random.integers(1, rows, (2, classes + 2)) << 3
    entries[2] |= np.where(entries[2] >> 3 == 2, 0, 6)
    entries[2, classes] |= 6
    blocks, table = np.zeros(0x110000 // 64, np.uint16), random.integers(0, classes, 64).astype(np.uint8)
    splitter = _core.CompiledSplitter(
        [SplitTable(blocks, table, entries.astype(np.uint32).reshape(-1), classes + 2, bool(seed % 2), "nothing")]
    )
    ends, _ = _core.split_texts(splitter, [text])
    assert (np.diff([0, *ends.tolist()]) > 0).all()
    assert int(ends[-1]) == len(text.encode()) if text else not len(ends)
