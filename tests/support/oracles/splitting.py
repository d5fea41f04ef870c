"""How others cut text into pieces: the `regex` package, `tokenizers` and tiktoken."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import regex
import tiktoken
from tokenizers import Regex, pre_tokenizers

from pyharness import _core
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.vocabularies.patterns.split_patterns import CL100K, SPLIT_PATTERNS

NAMES = tuple(SPLIT_PATTERNS)
SPLITTERS = {name: TextSplitter(name) for name in NAMES}
POINTS = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
NOTABLE = (
    *"aAbZ019'\n\r\t /!.\"(_sStTdDmMlLvVrReE\x00\x0b\x1c\x7f",
    *"ſK\u0085\u00a0\u2028\u3000\u200b\u200d\u0301éÉßǅʰªⅣ²½٣中文ア・゛\u3040いㇰ한กา😀🇪ŉﬆ",
)


def cut(ends: Any, data: bytes) -> list[bytes]:
    return [data[start:end] for start, end in pairwise([0, *ends])]


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
