"""The encoder of the curriculum joins as its definition does, and leaves nothing that joins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.training_texts import VECTORS
from layout.thoroughness import examples
from oracles import curriculum as oracle
from pyharness.features.curriculum.tokenizer import FixpointEncoder
from pyharness.types import InputError, Tokens


def encode(vocabulary: Sequence[str], texts: Sequence[str], threads: int = 1) -> list[list[int]]:
    """Ids of texts over a vocabulary whose first strings are single characters."""
    places = {string: place for place, string in enumerate(vocabulary)}
    symbols = Tokens.from_lists([[places[character] for character in text] for text in texts])
    encoder = FixpointEncoder([string.encode() for string in vocabulary])
    tokens = encoder.encode(symbols.ids, symbols.offsets, threads)
    return [tokens.document(index).tolist() for index in range(len(tokens))]


def random_vocabulary(generator: random.Random) -> list[str]:
    """Symbols and strings of them: beginnings of each other, as a curriculum has them, or any."""
    alphabet = generator.choice(["a", "ab", "abc", "aé漢"])
    strings = dict.fromkeys(alphabet)
    for _ in range(generator.randint(0, 8)):
        string = "".join(generator.choices(alphabet, k=generator.randint(2, 6)))
        first = 2 if generator.random() < 0.5 else len(string)
        strings |= dict.fromkeys(string[:end] for end in range(first, len(string) + 1))
    return list(strings)


def test_it_is_the_reference_on_random_vocabularies() -> None:
    generator, differing = random.Random(16), 0
    for _ in range(500):
        vocabulary = random_vocabulary(generator)
        symbols = [string for string in vocabulary if len(string) == 1]
        texts = ["".join(generator.choices(symbols, k=generator.choice([0, 1, 3, 12, 60]))) for _ in range(4)]
        numbered = dict(enumerate(vocabulary))
        expected = [oracle.encode(text, numbered) for text in texts]
        assert encode(vocabulary, texts, threads=generator.choice([1, 3])) == expected, (vocabulary, texts)
        differing += sum(_longest(text, vocabulary) != ids for text, ids in zip(texts, expected, strict=True))
    assert differing > 100  # the cases tell it from the longest match


def _longest(text: str, vocabulary: Sequence[str]) -> list[int]:
    ids, place = list[int](), 0
    while place < len(text):
        best = max((string for string in vocabulary if text.startswith(string, place)), key=len)
        ids.append(vocabulary.index(best))
        place += len(best)
    return ids


@pytest.mark.parametrize("vector", VECTORS["vocab_curriculum_encode"], ids=lambda vector: str(vector["name"]))
def test_vectors_of_encoding(vector: dict[str, Any]) -> None:
    vocabulary = list(vector["input"]["vocab"].values())
    (ids,) = encode(vocabulary, [vector["input"]["text"]])
    assert [vocabulary[token] for token in ids] == vector["expected"]["fixpoint(code)"]
    longest = [vocabulary[token] for token in _longest(vector["input"]["text"], vocabulary)]
    assert longest == vector["expected"]["leftmost_longest"]


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), max_size=12, unique=True),
    st.lists(st.text("ab", max_size=80), min_size=1, max_size=5),
)
@settings(max_examples=examples(200))
def test_no_neighbours_join_and_nothing_is_lost(strings: list[str], texts: list[str]) -> None:
    vocabulary = ["a", "b", *strings]
    encoded = encode(vocabulary, texts)
    for text, ids in zip(texts, encoded, strict=True):
        tokens = [vocabulary[token] for token in ids]
        assert "".join(tokens) == text
        assert not {left + right for left, right in pairwise(tokens)} & set(vocabulary)
    assert encoded == [encode(vocabulary, [text])[0] for text in texts]


def test_threads_do_not_change_an_id() -> None:
    generator = np.random.default_rng(3)
    strings = [b"a", b"b", b"c", b"ab", b"abc", b"bc", b"cab", b"aa", b"aaaa"]
    lengths = [*generator.integers(0, 3000, 90).tolist(), 120_000, 0, 1]
    symbols = generator.integers(0, 3, sum(lengths)).astype(np.uint32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    encoder = FixpointEncoder(strings)
    one, several = encoder.encode(symbols, offsets, 1), encoder.encode(symbols.astype(np.uint8), offsets, 7)
    assert np.array_equal(one.ids, several.ids)
    assert np.array_equal(one.offsets, several.offsets)
    vocabulary = {place: string.decode() for place, string in enumerate(strings)}
    for document in range(0, len(lengths) - 3, 10):
        text = "".join("abc"[symbol] for symbol in symbols[offsets[document] : offsets[document + 1]])
        assert one.document(document).tolist() == oracle.encode(text, vocabulary)


def test_ids_that_are_no_string_join_with_nothing() -> None:
    encoder = FixpointEncoder([b"a", b"aa"])
    tokens = encoder.encode(np.array([0, 0, 7, 0], np.uint32), np.array([0, 4]))
    assert tokens.ids.tolist() == [1, 7, 0]


def test_time_grows_with_the_text_even_where_everything_joins() -> None:
    encoder = FixpointEncoder([b"a" * length for length in range(1, 600)])
    tokens = encoder.encode(np.zeros(1_000_000, np.uint8), np.array([0, 1_000_000]))
    assert int((tokens.ids + 1).sum()) == 1_000_000
    assert len(tokens.ids) == -(-1_000_000 // 599)


def test_bad_arguments_of_an_encoder_are_refused() -> None:
    encoder = FixpointEncoder([b"a"])
    with pytest.raises(InputError, match="offsets"):
        encoder.encode(np.zeros(2, np.uint32), np.array([0, 1]))
    with pytest.raises(TypeError, match="uint32"):
        encoder.encode(np.zeros(2, np.int64), np.array([0, 2]))  # type: ignore[arg-type]
