from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.kernels import character_splits, token_frequency, utf8_flags
from pyharness.types import Tokens, Vocabulary


def reference(documents: list[list[int]], groups: list[int], shape: tuple[int, int]) -> Any:
    counts = np.zeros(shape, np.uint64)
    for ids, group in zip(documents, groups, strict=True):
        for token in ids:
            counts[group, token] += 1
    return counts


@given(rows=st.lists(st.tuples(st.lists(st.integers(0, 9)), st.integers(0, 3))), twice=st.booleans())
def test_counts_are_added(rows: list[tuple[list[int], int]], *, twice: bool) -> None:
    documents, groups = [ids for ids, _ in rows], [group for _, group in rows]
    tokens = Tokens.from_lists(documents)
    out = np.zeros((4, 10), np.uint64)
    for _ in range(1 + twice):
        token_frequency(tokens.ids, tokens.offsets, np.array(groups, np.uint8), out)
    assert (out == reference(documents, groups, (4, 10)) * np.uint64(1 + twice)).all()


def test_long_documents_are_counted_to_their_last_id() -> None:
    documents = [[(7 * place + size) % 10 for place in range(size)] for size in (23, 24, 25, 26, 1000, 0, 1)]
    tokens, groups = Tokens.from_lists(documents), [0, 1, 1, 0, 1, 0, 1]
    out = np.zeros((2, 10), np.uint64)
    token_frequency(tokens.ids, tokens.offsets, np.array(groups, np.uint8), out)
    assert (out == reference(documents, groups, (2, 10))).all()


def test_nothing_is_added_when_an_id_is_out_of_range() -> None:
    out = np.zeros((1, 3), np.uint64)
    tokens = Tokens.from_lists([[0, 1], [2, 3]])
    with pytest.raises(ValueError, match=r"ids\[3\] = 3\b"):
        token_frequency(tokens.ids, tokens.offsets, np.zeros(2, np.uint8), out)
    assert not out.any()


def test_what_does_not_fit_is_refused() -> None:
    tokens = Tokens.from_lists([[0], [1]])
    groups, out = np.zeros(2, np.uint8), np.zeros((1, 3), np.uint64)
    with pytest.raises(ValueError, match=r"groups\[0\] = 5\b"):
        token_frequency(tokens.ids, tokens.offsets, groups + np.uint8(5), out)
    with pytest.raises(ValueError, match=r"groups.* 2\b"):
        token_frequency(tokens.ids, tokens.offsets, groups[:1], out)
    with pytest.raises(ValueError, match="must end at 2"):
        token_frequency(tokens.ids, np.array([0, 1, 9]), groups, out)
    with pytest.raises(ValueError, match="two dimensions"):
        token_frequency(tokens.ids, tokens.offsets, groups, out[0])
    with pytest.raises(ValueError, match="C-contiguous"):
        token_frequency(tokens.ids, tokens.offsets, groups, np.zeros((3, 2), np.uint64).T)
    with pytest.raises(ValueError, match="not below"):
        token_frequency(tokens.ids, tokens.offsets, groups, np.zeros((1, 0), np.uint64))
    with pytest.raises(TypeError, match=r"out.*uint64"):
        token_frequency(tokens.ids, tokens.offsets, groups, out.astype(np.int64))
    frozen = np.zeros((1, 3), np.uint64)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        token_frequency(tokens.ids, tokens.offsets, groups, frozen)


# ------------------------------------------------------------------------------------------ character_splits


def splits(text: str, cuts: list[int]) -> int:
    """Characters that have a cut inside them."""
    inside = 0
    position = 0
    for character in text:
        length = len(character.encode())
        inside += any(position < cut < position + length for cut in cuts)
        position += length
    return inside


@given(st.lists(st.tuples(st.text("aé漢😀\u0301", max_size=30), st.lists(st.integers(0, 90), max_size=30))))
def test_character_splits(rows: list[tuple[str, list[int]]]) -> None:
    vocabulary: dict[bytes, int] = {}
    documents, expected = [], []
    for text, cuts in rows:
        data = text.encode()
        bounds = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]  # repeated cuts: empty tokens
        pieces = [data[a:b] for a, b in pairwise(bounds)]
        documents.append([vocabulary.setdefault(piece, len(vocabulary)) for piece in pieces])
        expected.append(splits(text, cuts))
    table = Vocabulary.from_tokens({token: piece for piece, token in vocabulary.items()}, {})
    tokens = Tokens.from_lists(documents)
    assert character_splits(tokens.ids, tokens.offsets, utf8_flags(table)).tolist() == expected


def test_flags() -> None:
    table = Vocabulary.from_tokens({0: b"a", 1: b"\x80", 3: b"\x80a", 4: b"a\x80", 5: b"\xbf\x80", 6: b""}, {})
    assert utf8_flags(table).tolist() == [0, 3, 4, 1, 0, 3, 4]
    assert utf8_flags(Vocabulary.from_tokens({}, {})).tolist() == []


def test_splits_refuse_unknown_ids() -> None:
    tokens = Tokens.from_lists([[0, 7]])
    with pytest.raises(ValueError, match=r"ids\[1\] = 7"):
        character_splits(tokens.ids, tokens.offsets, np.zeros(7, np.uint8))
    with pytest.raises(ValueError, match="at least one value"):
        character_splits(tokens.ids, np.zeros(0, np.int64), np.zeros(8, np.uint8))
