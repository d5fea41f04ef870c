"""The automaton of a split pattern against the engine that runs it, over all short texts."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness.vocabularies.encodings import KIMI
from pyharness.vocabularies.patterns.pieces import START, PieceAutomaton
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable

FAR = "digits_right_to_left"  # looks ahead by more than a character, which no automaton here does
EXPRESSIONS = sorted(
    {expression for name, known in SPLIT_PATTERNS.items() if name != FAR for expression in known.expressions} | {KIMI}
)
MOST_TEXTS = 30_000


def compiled(expression: str) -> Any:
    return regex.compile(expression, regex.V1 if "&&" in expression else regex.V0)


def first_end(pattern: Any, text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def samples(automaton: PieceAutomaton) -> list[str]:
    """A character of each class, an ASCII one where there is one."""
    return [automaton.classes.first_members(number, 1)[0] for number in range(automaton.classes.count)]


def check_sound(automaton: PieceAutomaton, pattern: Any, texts: list[str]) -> None:
    """No text's first match holds what the automaton says no match can hold."""
    for text in texts:
        end = first_end(pattern, text)
        word = automaton.classes.word(text)
        for start in range(end):
            before = automaton.inside if start else automaton.everywhere
            assert automaton.after(before, word[start:end]), (text, start, end)
        if end:
            assert automaton.ends_here(automaton.after(frozenset({START}), word[:end]))
        elif text:
            assert automaton.may_start_no_match() >> word[0] & 1, text


def check_complete(automaton: PieceAutomaton, pattern: Any, words: list[tuple[int, ...]], letters: list[str]) -> int:
    """What the automaton says a match can hold, the match of a text that it names does hold."""
    checked = 0
    for word in words:
        for before, behind in automaton.contexts(word, inside=False):
            text = "".join(letters[number] for number in (*before, *word, *behind))
            assert first_end(pattern, text) >= len(before) + len(word), (text, before, word, behind)
            checked += 1
    return checked


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_known_patterns_over_all_short_texts_of_their_classes(expression: str) -> None:
    automaton, pattern = PieceAutomaton(expression, "fancy_regex"), compiled(expression)
    letters = samples(automaton)
    length = next(n for n in (4, 3) if len(letters) ** n <= MOST_TEXTS)
    texts = ["".join(text) for n in range(length + 1) for text in product(letters, repeat=n)]
    check_sound(automaton, pattern, texts)
    words: list[tuple[int, ...]] = [(first, second) for first in range(len(letters)) for second in range(len(letters))]
    assert check_complete(automaton, pattern, words, letters) > 0


def test_the_order_of_alternatives_counts() -> None:
    """Some alternative of cl100k matches 'st whole, but the contraction before it always wins."""
    automaton = PieceAutomaton(SPLIT_PATTERNS["cl100k"].expressions[0], "fancy_regex")
    for text, alive in (
        ("'st", False),
        ("'sT", False),
        ("'qt", True),
        ("n't", False),
        ("1234", False),
        ("\n//", False),
    ):
        assert bool(automaton.after(automaton.everywhere, automaton.classes.word(text))) is alive, text
    o200k = PieceAutomaton(SPLIT_PATTERNS["o200k"].expressions[0], "fancy_regex")
    for text, alive in (("\n//", True), ("n't", True), ("n't's", False), ("aB", False), ("中a", True), ("a中", True)):
        assert bool(o200k.after(o200k.everywhere, o200k.classes.word(text))) is alive, text


@pytest.mark.parametrize(
    "expression",
    [r"a(?=bc)", r"(?<=a)b", r"a*", r"(?:a|)+", r"(ab)++c", r"\bword", r"^a", r"[[:punct:]--a]", r"(?i:\p{Lu})",
     r"(?:a?){64}b", r"(a", r"a)", r"[a", r"\R+", r"(?>a|ab)c", r"a{2", "a" * 5000, r"(?i:ss)", "\\"],
)  # fmt: skip
def test_what_cannot_be_examined_is_refused(expression: str) -> None:
    with pytest.raises(Uncompilable):
        PieceAutomaton(expression, "oniguruma")


@pytest.mark.parametrize("dialect", ["oniguruma", "regex"])
@pytest.mark.parametrize("expression", [r"(ab)++", r"[[:alpha:]]", r"a{1,100}", r"\w+", r"(?>a)", r"a(?>b|bc)"])
def test_what_encoding_reads_is_examined(expression: str, dialect: Dialect) -> None:
    """One parser: what tables can run can be examined, posix classes and atomic groups among it."""
    automaton, pattern = PieceAutomaton(expression, dialect), compiled(expression)
    texts = ["".join(text) for n in range(5) for text in product("abc1 ", repeat=n)]
    check_sound(automaton, pattern, texts)
    letters = samples(automaton)
    words = list(product(range(len(letters)), repeat=2))
    assert check_complete(automaton, pattern, words, letters) >= (expression != "(?>a)" and "alpha" not in expression)


@pytest.mark.parametrize("expression", ["a$", r"a\z"])
def test_what_python_reads_otherwise_is_refused_there(expression: str) -> None:
    PieceAutomaton(expression, "fancy_regex")
    with pytest.raises(Uncompilable):
        PieceAutomaton(expression, "regex")


def test_dialects_differ_where_engines_do() -> None:
    """To Oniguruma a plus behind a count repeats what is counted, and $ is the end of a line."""
    for dialect, alive in (("fancy_regex", False), ("oniguruma", True)):
        automaton = PieceAutomaton(r"\p{N}{1,3}+", dialect)  # type: ignore[arg-type]
        assert bool(automaton.after(automaton.everywhere, automaton.classes.word("1234"))) is alive
        line = PieceAutomaton(r"b++$|\n+|b", dialect)  # type: ignore[arg-type]
        after = line.after(frozenset({START}), line.classes.word("bb"))
        assert after
        assert line.ends_here(after)
        assert line.after(after, line.classes.word("b"))


def test_oniguruma_reads_a_count_as_the_automaton_does() -> None:
    import tokenizers

    for expression, text in ((r"\p{N}{1,3}+", "12345"), (r"\p{N}{1,3}", "12345"), (r"b+$|\n", "bb\nb")):
        automaton = PieceAutomaton(expression, "oniguruma")
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(expression), "isolated")
        first = split.pre_tokenize_str(text)[0][1][1]
        word = automaton.classes.word(text)
        assert automaton.ends_here(automaton.after(frozenset({START}), word[:first]))


def test_many_ways_to_match_the_same_cost_no_time() -> None:
    automaton = PieceAutomaton("(?:a|a){64}b", "fancy_regex")
    assert automaton.after(automaton.everywhere, automaton.classes.word("aab"))


@pytest.mark.parametrize("expression", ["(?:a|b)*a(?:a|b){14}", "(?:(?:(?:a{9}|b){9}|b){9}|c)+x"])
def test_patterns_that_would_take_long_are_refused_soon(expression: str) -> None:
    started = time.process_time()
    with pytest.raises(Uncompilable):
        PieceAutomaton(expression, "fancy_regex")
    assert time.process_time() - started < 20


def test_classes_are_told_apart_by_every_set() -> None:
    classes = PieceAutomaton(r"\p{L}|[ab]|\s", "fancy_regex").classes
    assert len(set(classes.word("ac 1"))) == 4
    assert classes.word("aé中\ud7a3") == (classes.word("b")[0], *classes.word("zzz"))
    assert classes.first_members(classes.word("b")[0], 9) == ["a", "b"]
    assert classes.first_members(classes.word("1")[0], 2) == ["\0", "\1"]
    assert "\ud800" not in classes.first_members(classes.word("1")[0], 0x110000)


REPEATS = ["", "+", "*", "?", "+?", "*?", "++", "?+", "{1,2}", "{2}"]
ENDINGS = ["", "", "(?!a)", "(?=b)", r"(?!\S)", r"\z"]


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


def expressions() -> st.SearchStrategy[str]:
    """Small expressions over a, b and the rest, with everything that the parser reads."""
    leaf = st.sampled_from(["a", "b", "[ab]", "[^a]", r"\s", "(?i:b)", r"[^\sa]"])
    turn = st.lists(joined(leaf, st.sampled_from(REPEATS)), min_size=1, max_size=3).map("".join)
    ahead = joined(turn, st.sampled_from(ENDINGS))
    choice = st.lists(turn, min_size=1, max_size=2).map("|".join)
    group = joined(choice.map("(?:{})".format), st.sampled_from(["", "?", "{1,2}"]))
    item = joined(ahead, st.one_of(st.just(""), group))
    return st.lists(item, min_size=1, max_size=3).map("|".join)


TEXTS = ["".join(text) for length in range(6) for text in product("ab ", repeat=length)]


@settings(max_examples=examples(80), deadline=None)
@given(expressions())
def test_random_patterns_over_all_short_texts(expression: str) -> None:
    try:
        automaton = PieceAutomaton(expression, "fancy_regex")
    except Uncompilable:
        return
    pattern = regex.compile(expression.replace(r"\z", r"\Z"))
    check_sound(automaton, pattern, TEXTS)
    letters = samples(automaton)
    words = [word for length in (1, 2, 3) for word in product(range(len(letters)), repeat=length)]
    check_complete(automaton, pattern, words, letters)
