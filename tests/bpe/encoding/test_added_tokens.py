"""Cutting texts at added tokens: the core against the reference, and the Unicode classes that it goes by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from layout.thoroughness import examples
from oracles import added_tokens as oracle
from oracles.splitting import POINTS, needs_the_tables
from pyharness import _core
from pyharness.bpe.encoding.added_tokens import AddedTokens, Stretches
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.types import Tokens
from pyharness.vocabularies.huggingface.file import AddedToken
from tokenizer_files import byte_level

FLAG = st.booleans()
LETTERS = " \t\u2003\u0085aXé\u0301_-\U0001d7ce<"
CONTENT = st.text(LETTERS, max_size=3)
NUMBER = st.integers(0, 9) | st.just(2**32 - 1)
TOKEN = st.builds(AddedToken, NUMBER, CONTENT, FLAG, FLAG, FLAG, FLAG, FLAG)
PLAIN = st.builds(AddedToken, NUMBER, CONTENT)
TOKENS = st.lists(TOKEN | PLAIN, max_size=6)
OFF = st.frozensets(NUMBER, max_size=2)
# The reference has the classes of a later Unicode version: no character that is not assigned in all of them.
CHARACTER = st.sampled_from(LETTERS) | st.characters(exclude_categories=["Cn", "Cs"])
BYTES = st.sampled_from([b"\xff", b"\x80", b"\xe2\x80", b"\xe2", b"\xc2", b"\xf0\x9f", b"\xed\xa0\x80"])
TEXT = st.text(CHARACTER, max_size=25)
BROKEN = st.lists(st.text(CHARACTER, max_size=4).map(str.encode) | BYTES, max_size=8).map(b"".join)


def parts_of(stretches: Stretches) -> list[list[bytes | int]]:
    """Stretches and ids of each document."""
    texts = [text.encode() if isinstance(text, str) else text for text in stretches.texts]
    if stretches.items is None or stretches.offsets is None:
        return [[text] for text in texts]
    rest = iter(texts)
    parts = [next(rest) if item < 0 else item for item in stretches.items.tolist()]
    assert not list(rest)
    return [parts[start:end] for start, end in pairwise(stretches.offsets.tolist())]


@settings(max_examples=examples(400), deadline=None)
@given(
    texts=st.lists(TEXT | BROKEN, max_size=6),
    tokens=TOKENS,
    off=OFF,
    more=TOKENS,
    threads=st.sampled_from([1, 2, 4]),
)
def test_cuts_are_those_of_the_reference(
    texts: list[str | bytes], tokens: list[AddedToken], off: frozenset[int], more: list[AddedToken], threads: int
) -> None:
    once = AddedTokens(tokens, off).cut(Stretches(texts), threads)
    expected = [oracle.cut(text.encode() if isinstance(text, str) else text, tokens, off) for text in texts]
    assert parts_of(once) == expected
    twice = AddedTokens(more).cut(once, threads)
    expected = [
        [new for part in parts for new in (oracle.cut(part, more, frozenset()) if isinstance(part, bytes) else [part])]
        for parts in expected
    ]
    assert parts_of(twice) == expected
    stretches = [
        (d, i == 0) for d, parts in enumerate(expected) for i, part in enumerate(parts) if part.__class__ is bytes
    ]
    assert list(zip(twice.document_of_stretches().tolist(), twice.starts_document().tolist(), strict=True)) == stretches
    joined = twice.join(spelled(twice.texts))
    for index, parts in enumerate(expected):
        ids = [id_ for part in parts for id_ in (part if isinstance(part, bytes) else [part])]
        assert joined.document(index).tolist() == ids


def spelled(texts: Sequence[str | bytes]) -> Tokens:
    """The bytes of texts as ids."""
    return Tokens.from_lists([list(text.encode() if isinstance(text, str) else text) for text in texts])


MARKED = st.text("<|>aé", max_size=3).map("<".__add__)
# With stretches as long as what is looked at together, which is 128 bytes after each mark, and longer.
WITH_MARKS = st.lists(MARKED | st.integers(0, 150).map("a".__mul__) | st.text("<|>aé", max_size=30), max_size=5)


@settings(max_examples=examples(400), deadline=None)
@given(
    texts=st.lists(WITH_MARKS.map("".join) | BROKEN.map(lambda text: text + b"<" + text), max_size=5),
    tokens=st.lists(st.builds(AddedToken, NUMBER, MARKED, FLAG, FLAG, FLAG), min_size=1, max_size=4),
)
def test_cuts_at_tokens_that_all_start_with_one_mark(texts: list[str | bytes], tokens: list[AddedToken]) -> None:
    expected = [oracle.cut(text.encode() if isinstance(text, str) else text, tokens, frozenset()) for text in texts]
    assert parts_of(AddedTokens(tokens).cut(Stretches(texts))) == expected


@pytest.mark.parametrize("before", [*range(20), 127, 128, 129, 300])
def test_a_token_of_one_mark_is_found_at_the_end_of_any_text(before: int) -> None:
    cutter = AddedTokens([AddedToken(1, "<|")])
    for text in ("a" * before + "<|", "<" + "a" * before + "<|", "a" * before + "<|a"):
        assert parts_of(cutter.cut(Stretches([text]))) == [
            oracle.cut(text.encode(), [AddedToken(1, "<|")], frozenset())
        ]


def test_parts_are_a_sequence_of_texts_whole_ones_as_they_were() -> None:
    whole, cut = "a text as it is", b"one  two"
    stretches = AddedTokens([AddedToken(1, "  ")]).cut(Stretches([whole, cut]))
    assert stretches.texts[0] is whole
    assert [*stretches.texts] == [whole, b"one", b"two"]
    assert len(stretches.texts) == 3
    assert stretches.texts[-1] == b"two"
    for index in (3, -4):
        with pytest.raises(IndexError):
            stretches.texts[index]
    again = AddedTokens([AddedToken(2, "w")]).cut(stretches)
    assert again.texts[0] is whole
    assert [*again.texts] == [whole, b"one", b"t", b"o"]


def test_texts_outlive_their_list() -> None:
    texts: list[str | bytes] = ["x" * 5000 + "  " + "y" * 5000 for _ in range(3)]
    stretches = AddedTokens([AddedToken(1, "  ")]).cut(Stretches(texts))
    again = AddedTokens([AddedToken(2, "xy")]).cut(stretches)
    del texts[:], stretches
    assert [*again.texts] == [b"x" * 5000, b"y" * 5000] * 3


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        _core.AddedTokenCutter([("", 1, False, False, False, False)])
    with pytest.raises(ValueError, match="threads"):
        AddedTokens([AddedToken(1, "X")]).cut(Stretches(["X"]), 0)
    with pytest.raises(ValueError, match="surrogates"):
        AddedTokens([AddedToken(1, "X")]).cut(Stretches(["X\ud800"]))
    ids, edges = np.zeros(2, np.uint32), np.array([0, 1, 2])
    items = np.array([-1, 7, -1])
    assert _core.join_stretches(ids, edges, items, np.array([0, 3]))[0].tolist() == [0, 7, 0]
    for wrong in ((edges, items, np.array([0, 2])), (edges, items[:2], np.array([0, 2])), (edges[:2], items, edges)):
        with pytest.raises(ValueError, match="must"):
            _core.join_stretches(ids, *wrong)


# ------------------------------------------------------------------------------------------ Unicode classes


def matched(expression: str, text: str) -> str:
    """The characters of a class of Rust's regex."""
    single = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("class", pat_str=expression, mergeable_ranks=single, special_tokens={})
    return bytes(encoding.encode_ordinary(text)).decode()


def cut_beside(context: str, token: AddedToken) -> tuple[list[bool], list[bool]]:
    """For every code point in the context, whether the token is found there, and whether nothing is left beside it."""
    cut = AddedTokens([token]).cut(Stretches([context.format(point) for point in POINTS]))
    assert cut.items is not None
    assert cut.offsets is not None
    found = np.bitwise_or.reduceat(cut.items >= 0, cut.offsets[:-1])
    return found.tolist(), (found & (np.diff(cut.offsets) == 1)).tolist()


@needs_the_tables("tiktoken")
@pytest.mark.parametrize("context", ["a-X{}", "{}X-a"])
def test_every_code_point_is_in_a_word_or_not(context: str) -> None:
    found, _ = cut_beside(context, AddedToken(1, "X", single_word=True))
    words = "".join(point for point, alone in zip(POINTS, found, strict=True) if not alone)
    assert words == matched(r"\w", POINTS)


@needs_the_tables("tiktoken")
@pytest.mark.parametrize(
    ("context", "token"), [("X{}", AddedToken(1, "X", rstrip=True)), ("{}X", AddedToken(1, "X", lstrip=True))]
)
def test_every_code_point_is_white_space_or_not(context: str, token: AddedToken) -> None:
    _, taken = cut_beside(context, token)
    assert "".join(point for point, alone in zip(POINTS, taken, strict=True) if alone) == matched(r"\s", POINTS)


@needs_the_tables("tiktoken")
@needs_the_tables("tokenizers")
def test_words_and_spaces_are_those_of_tokenizers() -> None:
    """Code points where a class starts or ends, beside tokens with every flag."""
    words, spaces = frozenset(matched(r"\w", POINTS)), frozenset(matched(r"\s", POINTS))
    kinds = [(point in words, point in spaces) for point in POINTS]
    edges = {at for at in range(1, len(POINTS)) if kinds[at] != kinds[at - 1]}
    points = [POINTS[at] for at in sorted(edges | {at - 1 for at in edges} | set(range(0, len(POINTS), 997)))]
    file = byte_level()
    size = len(file["model"]["vocab"])
    word = AddedToken(size, "QQ", single_word=True)
    greedy = AddedToken(size + 1, "ZZ", lstrip=True, rstrip=True)
    file |= {
        "added_tokens": [asdict(word), asdict(greedy)],
        "post_processor": None,
        "truncation": None,
        "padding": None,
    }
    data = json.dumps(file).encode()
    texts = [f"{point}QQ-QQ{point}-{point}ZZ-ZZ{point}" for point in points]
    expected = Tokenizer.from_buffer(data).encode_batch_fast(texts, add_special_tokens=False)
    encoded = BpeTokenizer(import_model(data)).encode_batch(texts)
    differing = [hex(ord(point)) for i, point in enumerate(points) if encoded.document(i).tolist() != expected[i].ids]
    assert not differing
