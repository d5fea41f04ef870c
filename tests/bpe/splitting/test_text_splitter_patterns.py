"""Patterns by name and by expression: what they are, examples of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from oracles.splitting import NAMES, SPLITTERS, regex_pieces, tokenizers_pieces, tokenizers_split
from pyharness import _core
from pyharness.bpe.model.text_splitter import Pieces, TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE, SPLIT_PATTERNS

# ------------------------------------------------------------------------------------------ patterns


def test_expressions_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        assert TextSplitter(name).expressions == (getattr(openai_public, name)()["pat_str"],)


def test_expressions_are_those_of_tekken() -> None:
    data = pytest.importorskip("mistral_common").__path__[0] + "/data/tekken_240911.json"
    assert json.loads(Path(data).read_text(encoding="utf-8"))["config"]["pattern"] == SPLITTERS["tekken"].expressions[0]


@pytest.mark.data
@pytest.mark.parametrize(("folder", "name"), [("qwen2_5", "qwen2"), ("deepseek_v3", "deepseek_v3")])
def test_expressions_are_those_of_tokenizer_files(data: Path, folder: str, name: str) -> None:
    file = json.loads((data / "tokenizers" / folder / "tokenizer.json").read_text(encoding="utf-8"))
    steps = [step["pattern"]["Regex"] for step in file["pre_tokenizer"]["pretokenizers"] if step["type"] == "Split"]
    assert tuple(steps) == SPLITTERS[name].expressions


EXAMPLES = {
    "gpt2": ["it", "'s", " DON", "'", "T", "  ", " 1234", ".", "5", "\n\n", "\t", "x", "!", "\n", "//", "é", " "],
    "cl100k": ["it", "'s", " DON", "'T", "  ", " ", "123", "4", ".", "5", "\n\n", "\tx", "!\n", "//", "é", " "],
    "o200k": ["it's", " DON'T", "  ", " ", "123", "4", ".", "5", "\n\n", "\tx", "!\n//", "é", " "],
    "tekken": ["it", "'s", " DON", "'T", "  ", " ", *"1234.5", "\n\n", "\tx", "!\n//", "é", " "],
    "deepseek_v3": ["it", "'s", " DON", "'T", "   ", "123", "4", ".", "5", "\n\n", "\tx", "!\n", "//", "é", " "],
    "single_digits": ["it", "'s", " DON", "'", "T", "  ", " ", *"1234.5", "\n\n", "\t", "x", "!", "\n", "//", "é", " "],
    "digits_right_to_left": [
        "it",
        "'s",
        " DON",
        "'T",
        "  ",
        " ",
        "1",
        "234",
        ".",
        "5",
        "\n\n",
        "\tx",
        "!\n",
        "//",
        "é",
        " ",
    ],
    "whitespace": ["it's", " DON'T", "  ", " 1234.5", "\n\n", "\t", "x!", "\n", "//é", " "],
    "none": ["it's DON'T   1234.5\n\n\tx!\n//é "],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    text = "it's DON'T   1234.5\n\n\tx!\n//é "
    assert [piece.decode() for piece in SPLITTERS[name].split(text)] == EXAMPLES[name]


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("cl100k", "'ſx", ["'ſ", "x"]),  # Unicode case folding: the long s is an s
        ("gpt2", "'ſx", ["'", "ſx"]),
        ("cl100k", "\n ", ["\n "]),  # \s++$ comes before the newlines
        ("llama3", "\n ", ["\n", " "]),
        ("o200k", "中ABC", ["中", "ABC"]),  # the upper case run gives back what is not lower case either
        ("o200k", "中ABCd", ["中ABCd"]),
        ("o200k", "\u0301ABC", ["\u0301", "ABC"]),
        ("o200k", "x's's's", ["x's", "'s's"]),
        ("o200k", "x'lL", ["x'lL"]),
        ("o200k", "!\n/*", ["!\n/", "*"]),
        ("deepseek_v3", "ア・イ", ["ア", "・", "イ"]),  # inside the second split's piece the third one cuts on
        ("deepseek_v3", "a\x00\x00b", ["a", "\x00", "\x00b"]),
        ("deepseek_v3", "a \x00\x01 1", ["a", " ", "\x00\x01", " ", "1"]),
        ("deepseek_v3", ".café", [".caf", "é"]),
        ("digits_right_to_left", "1234567 12345km", ["1", "234", "567", " ", "12", "345", "km"]),
        ("digits_right_to_left", "123456", ["123", "456"]),
        ("digits_right_to_left", "x٣٤²4", ["x", "٣", "٤²4"]),
    ],
)
def test_rare_rules(name: str, text: str, pieces: list[str]) -> None:
    assert [piece.decode() for piece in SPLITTERS[name].split(text)] == pieces
    assert regex_pieces(name, text) == SPLITTERS[name].split(text)


# ------------------------------------------------------------------------------------------ names, engines, bad input


def test_a_long_number_takes_linear_time() -> None:
    """Where digits were counted anew for each piece, this would take minutes."""
    ends = SPLITTERS["digits_right_to_left"].split_batch(["7" * 3_000_001]).ends
    assert (ends[0], len(ends), set(np.diff(ends).tolist())) == (1, 1_000_001, {3})


@given(st.text("0123456789 .,a٣²\n", max_size=40))
def test_digits_from_the_right_as_other_libraries_find_them(text: str) -> None:
    name = "digits_right_to_left"
    assert SPLITTERS[name].split(text) == regex_pieces(name, text) == tokenizers_pieces(tokenizers_split(name), text)


def test_names_aliases_and_spellings() -> None:
    assert {TextSplitter(name).name for name in ("gpt2", "r50k", "r50k_base", "p50k_base", GPT2_RELEASE)} == {"gpt2"}
    for name, pattern in SPLIT_PATTERNS.items():
        assert SPLITTERS[name].engine == "native"
        assert pattern.source
        if len(pattern.expressions) == 1:
            assert TextSplitter(pattern.expressions[0]).name == name
    # The last step of three alone is another pattern.
    assert TextSplitter(SPLIT_PATTERNS["deepseek_v3"].expressions[0]).engine == "compiled"


def test_an_expression_of_ones_own() -> None:
    splitter = TextSplitter(r"\w+|x*")
    assert splitter.engine == "compiled"
    assert splitter.name == r"\w+|x*"
    assert [piece.decode() for piece in splitter.split("dé, fg")] == ["dé", ", ", "fg"]
    assert splitter.split("") == []
    set_operation = TextSplitter(r"[\w&&[^b]]+")
    assert set_operation.split("abc") == [b"a", b"b", b"c"]


@pytest.mark.parametrize("pattern", ["(a", r"\p{Nonsense}", "["])
def test_a_pattern_that_does_not_compile(pattern: str) -> None:
    with pytest.raises(InputError, match="compile"):
        TextSplitter(pattern)


@pytest.mark.parametrize(("pattern", "message"), [("cl1OOk", "did you mean 'cl100k'"), ("", "pattern")])
def test_unknown_names(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TextSplitter(pattern)


def test_a_pattern_that_backtracks_without_end() -> None:
    with pytest.raises(InputError, match=r"0\.2 s .*text 1\b.*backtrack"):
        TextSplitter("(?<!b)(?:a|a)+[bc]", time_limit=0.2).split_batch(["ok", "a" * 40])


def test_an_expression_meets_invalid_utf8() -> None:
    with pytest.raises(InputError, match=r"text 1 .*UTF-8 at byte 2"):
        TextSplitter(r"\b\w+").split_batch([b"fine", b"ab\xff"])


@pytest.mark.parametrize("splitter", [SPLITTERS["cl100k"], TextSplitter(r"\d"), TextSplitter(r"\b\w+")])
def test_bad_batches(splitter: TextSplitter) -> None:
    with pytest.raises(TypeError, match=r"texts.*sequence"):
        splitter.split_batch("one text")
    with pytest.raises(TypeError, match=r"texts\[1\].*bytes"):
        splitter.split_batch(["a", 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="surrogate"):
        splitter.split_batch(["\ud800"])
    for threads in (0, -3, 1 << 20):
        with pytest.raises(ValueError, match="threads"):
            splitter.split_batch(["a"], threads=threads)


def test_the_core_knows_its_patterns() -> None:
    with pytest.raises(ValueError, match=r"pattern 'x'.*none, whitespace, gpt2"):
        _core.split_texts("x", ["a"])


def test_empty_batches_and_texts() -> None:
    for splitter in (*SPLITTERS.values(), TextSplitter(r"\w+")):
        assert splitter.split_batch([]).offsets.tolist() == [0]
        pieces: Pieces = splitter.split_batch(["", b"", "a"], threads=3)
        assert pieces.offsets.tolist() == [0, 0, 0, 1]
        assert pieces.ends.tolist() == [1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "unit", ["a", "A", " ", "\n", " \n", "'", "'s", "1", "!", "中", "\u0301", "中A", "é'", "\x00", "ア・"]
)
def test_long_runs_take_linear_time(name: str, unit: str) -> None:
    """Two million characters: a quadratic rule would take hours."""
    text = unit * (2_000_000 // len(unit))
    assert SPLITTERS[name].split_batch([text]).ends[-1] == len(text.encode())
