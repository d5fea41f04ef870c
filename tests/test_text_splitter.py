from __future__ import annotations

import json
import lzma
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]
from tokenizers import Regex, Tokenizer, pre_tokenizers

from pyharness import _core
from pyharness.bpe.splitter import Pieces, TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.split_patterns import CL100K, GPT2_RELEASE, SPLIT_PATTERNS

NAMES = tuple(SPLIT_PATTERNS)
SPLITTERS = {name: TextSplitter(name) for name in NAMES}
POINTS = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
NOTABLE = (
    *"aAbZ019'\n\r\t /!.\"(_sStTdDmMlLvVrReE\x00\x0b\x1c\x7f",
    *"ſK\u0085\u00a0\u2028\u3000\u200b\u200d\u0301éÉßǅʰªⅣ²½٣中文ア・゛\u3040いㇰ한กา😀🇪ŉﬆ",
)


def cut(ends: Any, data: bytes) -> list[bytes]:
    return [data[start:end] for start, end in pairwise([0, *ends])]


# ------------------------------------------------------------------------------------------ references


@cache
def tokenizers_split(name: str) -> Any:
    """The pattern in `tokenizers`, whose engine reads `{1,3}+` as a repetition, not as possessive."""
    expressions = SPLIT_PATTERNS[name].expressions
    steps = [CL100K.replace("{1,3}+", "{1,3}")] if name == "cl100k" else expressions
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(step), "isolated") for step in steps])


def tokenizers_pieces(pre_tokenizer: Any, text: str) -> list[bytes]:
    return [text[start:end].encode() for _, (start, end) in pre_tokenizer.pre_tokenize_str(text)]


@cache
def compiled(name: str) -> list[Any]:
    return [regex.compile(expression) for expression in SPLIT_PATTERNS[name].expressions]


def regex_pieces(name: str, text: str) -> list[bytes]:
    parts = [text]
    for pattern in compiled(name):
        cuts = [[0, *(edge for m in pattern.finditer(part) for edge in m.span()), len(part)] for part in parts]
        parts = [
            part[a:b] for part, edges in zip(parts, cuts, strict=True) for a, b in pairwise(sorted(set(edges))) if a < b
        ]
    return [part.encode() for part in parts]


def same_in_tiktoken(expression: str, text: str, pieces: list[bytes]) -> bool:
    """Whether tiktoken cuts the same pieces, told by ids.

    It encodes a piece of the vocabulary as one id. Pairs and triples are in it as well: had tiktoken left two or three
    pieces together, their id would show.
    """
    vocabulary = {bytes([byte]): byte for byte in range(256)}
    for piece in pieces:
        vocabulary.setdefault(piece, len(vocabulary))
    expected = [vocabulary[piece] for piece in pieces]
    for count in (2, 3):
        for neighbours in zip(*(pieces[i:] for i in range(count)), strict=False):
            vocabulary.setdefault(b"".join(neighbours), len(vocabulary))
    encoding = tiktoken.Encoding("pieces", pat_str=expression, mergeable_ranks=vocabulary, special_tokens={})
    return encoding.encode_ordinary(text) == expected


@cache
def unicode_of(library: str) -> str:
    """Letters that a library knows among some that came with Unicode 16 and 17."""
    text, expected = "\u1c89\ua7ce", {"": "15.1 or older", "\u1c89": "16.0.0", "\u1c89\ua7ce": "17.0.0 or newer"}
    if library == "tiktoken":
        single = {bytes([byte]): byte for byte in range(256)}
        encoding = tiktoken.Encoding("probe", pat_str=r"\p{L}", mergeable_ranks=single, special_tokens={})
        return expected[bytes(encoding.encode_ordinary(text)).decode()]
    split = pre_tokenizers.Split(Regex(r"\p{L}"), "removed", invert=True)
    return expected["".join(piece for piece, _ in split.pre_tokenize_str(text))]


def needs_the_tables(library: str) -> pytest.MarkDecorator:
    other = unicode_of(library) != _core.SPLIT_UNICODE_VERSION
    return pytest.mark.skipif(other, reason=f"{library} has Unicode {unicode_of(library)}: code points may differ")


def stable(character: str) -> bool:
    """Assigned long ago, with the same category in every version: `regex` is ahead of the tables."""
    return unicodedata.category(character) != "Cn" and character != "\u0295"


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
    ],
)
def test_rare_rules(name: str, text: str, pieces: list[str]) -> None:
    assert [piece.decode() for piece in SPLITTERS[name].split(text)] == pieces
    assert regex_pieces(name, text) == SPLITTERS[name].split(text)


# ------------------------------------------------------------------------------------------ any text


@cache
def texts() -> st.SearchStrategy[str]:
    """Dense in what the rules look at, long enough for windows of 64 bytes, and sometimes any category."""
    by_category: dict[str, list[str]] = {}
    for character in filter(stable, POINTS):
        by_category.setdefault(unicodedata.category(character), []).append(character)
    anything = st.sampled_from(sorted(by_category)).flatmap(lambda category: st.sampled_from(by_category[category]))
    ascii_notable = [character for character in NOTABLE if character < "\x80"]
    alphabets = [
        st.sampled_from(ascii_notable),
        st.sampled_from(NOTABLE),
        st.one_of(st.sampled_from(NOTABLE), anything),
    ]
    alphabets.append(st.sampled_from("ab '\n.1"))
    return st.one_of([st.lists(alphabet, max_size=size).map("".join) for alphabet in alphabets for size in (12, 150)])


@settings(max_examples=400, deadline=None)
@given(texts())
def test_any_text_as_regex(text: str) -> None:
    for name in NAMES:
        assert SPLITTERS[name].split(text) == regex_pieces(name, text), name


@settings(max_examples=400, deadline=None)
@given(texts())
def test_any_text_as_tokenizers(text: str) -> None:
    for name in NAMES:
        assert SPLITTERS[name].split(text) == tokenizers_pieces(tokenizers_split(name), text), name
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert SPLITTERS["gpt2"].split(text) == tokenizers_pieces(byte_level, text)


TIKTOKEN = [name for name in NAMES if name not in ("deepseek_v3", "none")]


@settings(max_examples=60, deadline=None)  # an encoding takes 10 ms to build
@given(texts())
def test_any_text_as_tiktoken(text: str) -> None:
    for name in TIKTOKEN:
        pieces = SPLITTERS[name].split(text)
        assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, pieces), name
    assert same_in_tiktoken(GPT2_RELEASE, text, SPLITTERS["gpt2"].split(text))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(texts().map(str.encode), st.binary(max_size=6)), max_size=5).map(b"".join))
def test_invalid_utf8_splits_as_replacement_characters(data: bytes) -> None:
    """Every maximal invalid subpart counts as one U+FFFD, which is how Python decodes it with "replace"."""
    for name in NAMES:
        pieces = SPLITTERS[name].split(data)
        assert b"".join(pieces) == data
        replaced = [piece.decode(errors="replace") for piece in pieces]
        assert replaced == [piece.decode() for piece in SPLITTERS[name].split(data.decode(errors="replace"))], name


@settings(max_examples=100, deadline=None)
@given(st.lists(texts(), max_size=6), st.integers(1, 4))
def test_a_batch_is_its_texts(batch: list[str], threads: int) -> None:
    for splitter in (SPLITTERS["o200k"], TextSplitter(r"\w+")):
        pieces = splitter.split_batch(batch, threads)
        assert pieces.offsets.dtype == pieces.ends.dtype == np.int64
        assert len(pieces) == len(batch)
        for index, text in enumerate(batch):
            assert cut(pieces.of(index).tolist(), text.encode()) == splitter.split(text)
            assert b"".join(splitter.split(text)) == text.encode()


# ------------------------------------------------------------------------------------------ every code point


@cache
def at_class_edges() -> str:
    """Every code point next to one of another category, in Python's version or `regex`'s, and every 251st."""
    unassigned = set(regex.findall(r"\p{Cn}", POINTS))
    kinds = [(unicodedata.category(point), point in unassigned, point in NOTABLE) for point in POINTS]
    edges = {i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]}
    return "".join(POINTS[i] for i in sorted(edges | {i - 1 for i in edges} | set(range(0, len(POINTS), 251))))


CONTEXTS = ("a{}A", " {} ", "1{}2", "!{}!", "\n{}\n", "'{}e", "{}'s", "\u0301{}\u0301", "中{}中", "  {}", "é{}É")


@needs_the_tables("tokenizers")
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek_v3"])
def test_code_points_in_context_as_tokenizers(name: str) -> None:
    points = at_class_edges()
    for context in CONTEXTS:
        text = "\x00\x00\n".join(context.format(point) for point in points)
        assert SPLITTERS[name].split(text) == tokenizers_pieces(tokenizers_split(name), text), context


@needs_the_tables("tiktoken")
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_code_points_in_context_as_tiktoken(name: str) -> None:
    points = at_class_edges()
    for context in CONTEXTS:
        text = "\x00\x00\n".join(context.format(point) for point in points)
        assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, SPLITTERS[name].split(text)), context


CLASSES = {  # a text around a code point that is one piece when the code point is in the class
    r"\p{L}": ("gpt2", "a{}"),
    r"\p{N}": ("gpt2", "1{}"),
    r"\s": ("gpt2", "\t{}"),
    r"[\p{P}\p{S}]": ("deepseek_v3", "。{}"),
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]": ("tekken", "é{}"),
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]": ("tekken", "A{}Bc"),
}


@needs_the_tables("tiktoken")
@pytest.mark.parametrize("expression", CLASSES)
def test_every_code_point_has_the_classes_of_tiktoken(expression: str) -> None:
    single = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("class", pat_str=expression, mergeable_ranks=single, special_tokens={})
    expected = bytes(encoding.encode_ordinary(POINTS)).decode()
    name, context = CLASSES[expression]
    points = regex.sub(r"[\r\n\u3040-\u30ff\u4e00-\u9fa5]", "", POINTS)  # DeepSeek treats this range by itself
    counts = np.diff(SPLITTERS[name].split_batch([context.format(point) for point in points]).offsets)
    found = "".join(point for point, count in zip(points, counts.tolist(), strict=True) if count == 1)
    assert found == "".join(filter(frozenset(points).__contains__, expected))


# ------------------------------------------------------------------------------------------ real text


FILES = ("english/books", "code/python", "code/cpp", "multilingual/ru/dracor_plays", "multilingual/zh/tang_song_poetry")


def sample(path: Path, characters: int = 60_000) -> str:
    parts: list[str] = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            parts.append(json.loads(line)["text"])
            if sum(map(len, parts)) > characters:
                break
    return "".join(parts)[:characters]


@pytest.mark.data
@pytest.mark.parametrize("path", FILES)
def test_real_text(data: Path, path: str) -> None:
    text = sample(data / "corpora" / f"{path}.jsonl.xz")
    for name in NAMES:
        pieces = SPLITTERS[name].split(text)
        if name in TIKTOKEN:
            assert same_in_tiktoken(SPLIT_PATTERNS[name].expressions[0], text, pieces), name
        else:
            assert pieces == tokenizers_pieces(tokenizers_split(name), text), name


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "name"), [("gpt2", "gpt2"), ("gpt_neox", "gpt2"), ("qwen2_5", "qwen2"), ("deepseek_v3", "deepseek_v3")]
)
def test_real_text_as_tokenizer_files(data: Path, folder: str, name: str) -> None:
    pre_tokenizer = Tokenizer.from_file(str(data / "tokenizers" / folder / "tokenizer.json")).pre_tokenizer
    for path in FILES:
        text = sample(data / "corpora" / f"{path}.jsonl.xz", 50_000)
        assert SPLITTERS[name].split(text) == tokenizers_pieces(pre_tokenizer, text), path


# ------------------------------------------------------------------------------------------ names, engines, bad input


def test_names_aliases_and_spellings() -> None:
    assert {TextSplitter(name).name for name in ("gpt2", "r50k", "r50k_base", "p50k_base", GPT2_RELEASE)} == {"gpt2"}
    for name, pattern in SPLIT_PATTERNS.items():
        assert SPLITTERS[name].engine == "native"
        assert pattern.source
        if len(pattern.expressions) == 1:
            assert TextSplitter(pattern.expressions[0]).name == name
    # The last step of three alone is another pattern.
    assert TextSplitter(SPLIT_PATTERNS["deepseek_v3"].expressions[0]).engine == "regex"


def test_an_expression_of_ones_own() -> None:
    splitter = TextSplitter(r"\w+|x*")
    assert splitter.engine == "regex"
    assert splitter.name == r"\w+|x*"
    assert [piece.decode() for piece in splitter.split("dé, fg")] == ["dé", ", ", "fg"]
    assert splitter.split("") == []
    set_operation = TextSplitter(r"[\w&&[^b]]+")
    assert set_operation.split("abc") == [b"a", b"b", b"c"]


@pytest.mark.parametrize("pattern", ["(a", r"\p{Nonsense}", "["])
def test_a_pattern_that_does_not_compile(pattern: str) -> None:
    with pytest.raises(InputError, match="does not compile"):
        TextSplitter(pattern)


@pytest.mark.parametrize(("pattern", "message"), [("cl1OOk", "did you mean 'cl100k'"), ("", "empty split pattern")])
def test_unknown_names(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TextSplitter(pattern)


def test_a_pattern_that_backtracks_without_end() -> None:
    with pytest.raises(InputError, match=r"took more than 0.2 s on text 1; it may backtrack"):
        TextSplitter("(?:a|a)+[bc]", time_limit=0.2).split_batch(["ok", "a" * 40])


def test_an_expression_meets_invalid_utf8() -> None:
    with pytest.raises(InputError, match="text 1 is not UTF-8 at byte 2"):
        TextSplitter(r"\w+").split_batch([b"fine", b"ab\xff"])


def test_bad_batches() -> None:
    splitter = SPLITTERS["cl100k"]
    with pytest.raises(TypeError, match="texts must be a sequence"):
        splitter.split_batch("one text")
    with pytest.raises(TypeError, match=r"texts\[1\] must be str or bytes"):
        splitter.split_batch(["a", 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="surrogates not allowed"):
        splitter.split_batch(["\ud800"])
    with pytest.raises(ValueError, match="threads must be in"):
        splitter.split_batch(["a"], threads=0)
    with pytest.raises(ValueError, match="unknown split pattern 'x'; known: none, whitespace, gpt2"):
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
