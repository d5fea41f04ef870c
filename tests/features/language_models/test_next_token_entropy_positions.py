"""Where in a word a token stands, against a loop over bytes."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.word_positions import places
from pyharness import tokenizers
from pyharness.metrics.counting import words
from pyharness.metrics.counting.words import PARTS, positions, token_stops, word_bounds
from pyharness.types import Vocabulary


def cut(pieces: list[bytes]) -> tuple[np.ndarray, Vocabulary]:
    """One id per piece."""
    return np.arange(len(pieces), dtype=np.uint32), Vocabulary.from_tokens(dict(enumerate(pieces)), {})


def found(text: str, pieces: list[bytes]) -> list[str] | None:
    where = positions(text, *cut(pieces))
    return None if where is None else [PARTS[place] for place in where.tolist()]


@given(st.text(st.sampled_from("ab c1.'é日ก\u0301\n🇪🇪"), max_size=20), st.data())
def test_equals_a_loop_over_bytes(text: str, data: st.DataObject) -> None:
    size = len(text.encode())
    edges = sorted(data.draw(st.lists(st.integers(0, size), max_size=12)))  # equal edges: empty tokens
    pieces = [text.encode()[a:b] for a, b in zip([0, *edges], [*edges, size], strict=True)]
    assert found(text, pieces) == places(text, pieces)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"the", b" quick", b"er", b" fox"], ["0", "0", "1", "0"]),
        ([b"un", b"be", b"liev", b"ab", b"le", b"!"], ["0", "1", "2", "3+", "3+", "outside"]),
        ([b"of the", b"re", b" "], ["0", "1", "outside"]),  # a token that spans words counts for what follows
        ([b"wor", b"d. The", b"re"], ["0", "1", "1"]),  # and has its own place in the first of them
        ([b"caf", b"\xc3", b"\xa9"], ["0", "1", "2"]),
        ([b"a", b"", b"b"], ["0", "outside", "1"]),
        ([b"\n\n", b"--"], ["outside", "outside"]),
        ([], []),
    ],
)
def test_examples(pieces: list[bytes], expected: list[str]) -> None:
    assert found(b"".join(pieces).decode(), pieces) == expected


def test_a_space_that_sentencepiece_puts_first_is_not_of_the_text() -> None:
    assert found("the house", [b" the", b" ho", b"use"]) == ["0", "0", "1"]
    stops = token_stops("the house", *cut([b" ", b"the", b" house"]))
    assert stops is not None
    assert stops.tolist() == [0, 3, 9]
    row = tokenizers.load("mistral:v3")
    text = "The newest houses, 日本"
    where = positions(text, row.encode_batch([text]).ids, row.vocabulary())  # type: ignore[attr-defined]
    assert where is not None
    assert where[0] == 0


def test_tokens_that_do_not_spell_the_text_have_no_place() -> None:
    assert found("The", [b"the"]) is None
    assert found("the", [b"the", b" "]) is None


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(words) == (0, 4)


def test_bounds_are_bytes() -> None:
    starts, stops = word_bounds("é 12.5, ok")
    assert (starts.tolist(), stops.tolist()) == ([0, 3, 9], [2, 7, 11])
