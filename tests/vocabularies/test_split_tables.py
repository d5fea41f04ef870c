"""Tables of split patterns: invalid UTF-8, gaps, long runs, and tables that are broken."""

from __future__ import annotations

import time

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.split_texts import LETTERS, table_of
from layout.thoroughness import examples
from made_words import model
from oracles.split_engines import agrees, native_matches, native_pieces
from published_patterns import BLOOM, CLIP
from pyharness import _core
from pyharness.bpe import PieceCounter, TextEncoder, TextSplitter
from pyharness.types import InputError
from pyharness.vocabularies.encodings import KIMI
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.patterns.tables import SplitTable, compiled


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
    with pytest.raises(InputError, match="goes back"):
        splitter.split("a" * 200_000)
    with pytest.raises(InputError, match="goes back"):
        PieceCounter(splitter).add(["a" * 200_000])
    encoder = TextEncoder(model(), splitter)
    with pytest.raises(InputError, match="goes back"):
        encoder.encode_batch(["a" * 200_000])
    with pytest.raises(InputError, match="goes back"):
        encoder.encode("a" * 200_000)


BYTES = st.lists(st.one_of(st.text(LETTERS, max_size=9).map(str.encode), st.binary(max_size=6)), max_size=5)


@settings(max_examples=examples(100), deadline=None)
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


@settings(max_examples=examples(60), deadline=None)
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
