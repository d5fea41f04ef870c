from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import bpe as oracle
from pyharness.bpe import BpeEncoder
from pyharness.types import Tokens

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
TRAINING = {f"bpe_train/{vector['name']}": vector for vector in VECTORS["bpe_train"]}
Trained = tuple[dict[int, bytes], list[oracle.Rule]]


def ids(values: Any) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(values, np.uint32)


def random_corpus(generator: random.Random) -> dict[bytes, int]:
    alphabet = b"abc" if generator.random() < 0.7 else b"ab\xe4\xb8\xad "
    return {
        bytes(generator.choices(alphabet, k=generator.randint(1, 9))): generator.randint(1, 9)
        for _ in range(generator.randint(1, 12))
    }


def train_vector(name: str) -> Trained:
    given_ = TRAINING[name]["input"]
    words = given_["words"] if "words" in given_ else dict(given_["words_in_order"])
    return oracle.train({word.encode("latin-1"): count for word, count in words.items()}, given_["vocab_size"])


@pytest.mark.parametrize("vector", VECTORS["bpe_encode"], ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    vocabulary, rules = train_vector(vector["input"]["model"])
    encoder = BpeEncoder(oracle.model(vocabulary, rules=rules))
    tokens = encoder.encode(ids(list(bytes.fromhex(vector["input"]["bytes_hex"]))))
    assert [vocabulary[token].hex() for token in tokens.tolist()] == vector["expected"]


@pytest.mark.parametrize("seed", range(300))
def test_random_corpora_in_both_forms(seed: int) -> None:
    generator = random.Random(seed)
    vocabulary, rules = oracle.train(random_corpus(generator), 256 + generator.randint(1, 12))
    by_rule = BpeEncoder(oracle.model(vocabulary, rules=rules))
    ranks = {token: token for token in vocabulary}
    by_rank = BpeEncoder(oracle.model(vocabulary, ranks=ranks))
    for _ in range(5):
        word = list(generator.choices(b"abc\xe4\xb8\xad d", k=generator.randint(0, 14)))
        assert by_rule.encode(ids(word)).tolist() == oracle.encode(word, rules)
        assert by_rank.encode(ids(word)).tolist() == oracle.encode_ranks(word, vocabulary, ranks)


rule_lists = st.lists(st.tuples(*[st.integers(0, 7)] * 3), max_size=20)


@given(rules=rule_lists, piece=st.lists(st.integers(0, 3), max_size=12), repeats=st.integers(1, 60))
def test_any_rules_short_and_long(rules: list[oracle.Rule], piece: list[int], repeats: int) -> None:
    """Cycles, duplicates and rules that give existing ids; repeated pieces cross from the scan to the queue."""
    tokens = {token: bytes([65 + token]) for token in range(8)}
    encoder = BpeEncoder(oracle.model(tokens, rules=rules))
    for base in (piece, piece * repeats):
        assert encoder.encode(ids(base)).tolist() == oracle.encode(base, rules)


@given(
    strings=st.sets(st.text("ab", min_size=2, max_size=5), max_size=15),
    order=st.randoms(use_true_random=False),
    piece=st.text("abc", max_size=200),
)
def test_ranks_may_tie_and_differ_from_ids(strings: set[str], order: random.Random, piece: str) -> None:
    tokens = dict(enumerate([b"a", b"b", b"c", *sorted(string.encode() for string in strings)]))
    ranks = {token: order.choice([*range(6), oracle.NEVER]) for token in tokens}
    encoder = BpeEncoder(oracle.model(tokens, ranks=ranks))
    base = ["abc".index(character) for character in piece]
    assert encoder.encode(ids(base)).tolist() == oracle.encode_ranks(base, tokens, ranks)


def test_equal_strings_give_the_lowest_rank() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"ab", 4: b"ab"}
    ranks = {2: 9, 3: 4, 4: 4}
    assert BpeEncoder(oracle.model(tokens, ranks=ranks)).encode(ids([0, 1])).tolist() == [3]


def test_symbols_are_characters_in_character_level_models() -> None:
    """SentencePiece: base symbols are characters of several bytes, and ids are far from ranks."""
    tokens = {5: "▁".encode(), 6: "é".encode(), 7: "▁é".encode(), 9: "é▁".encode()}
    ranks = {7: 1, 9: 0}
    encoder = BpeEncoder(oracle.model(tokens, ranks=ranks))
    for base in ([5, 6], [5, 6, 5], [6, 5, 6, 5]):
        assert encoder.encode(ids(base)).tolist() == oracle.encode_ranks(base, tokens, ranks)


@given(pieces=st.lists(st.binary(max_size=9), max_size=200), threads=st.integers(1, 5))
def test_batches_equal_single_pieces(pieces: list[bytes], threads: int) -> None:
    vocabulary, rules = train_vector("bpe_train/hf_course_hug")
    encoder = BpeEncoder(oracle.model(vocabulary, rules=rules))
    batch = Tokens.from_lists([list(piece) for piece in [*pieces, b"hugs", b"pun"]])
    encoded = encoder.encode_batch(batch.ids, batch.offsets, threads)
    assert [encoded.document(d).tolist() for d in range(len(batch))] == [
        encoder.encode(batch.document(d)).tolist() for d in range(len(batch))
    ]


def test_long_pieces_of_one_byte() -> None:
    tokens = {0: b"a"} | {level: b"a" * 2**level for level in range(1, 8)}
    rules = [(level, level, level + 1) for level in range(7)]
    encoded = BpeEncoder(oracle.model(tokens, rules=rules)).encode(ids([0] * 100_003))
    assert encoded.tolist() == [7] * (100_003 // 128) + [5, 1, 0]


def bad_models() -> dict[str, tuple[dict[str, Any], str]]:
    return {
        "both forms": ({"ranks": ids([1] * 3)}, "exactly one"),
        "neither form": ({"rules": None}, "exactly one"),
        "falling offsets": ({"offsets": np.array([0, 2, 1, 2])}, "must not fall"),
        "offsets past the end": ({"offsets": np.array([0, 1, 2, 99])}, "must end at 2"),
        "offsets below 0": ({"offsets": np.array([-1, 1, 2, 2])}, "must start at 0"),
        "short offsets": ({"offsets": np.array([0, 2])}, "offsets must hold 4"),
        "base out of range": ({"base": ids([0, 3])}, r"base\[1\] = 3"),
        "rule out of range": ({"rules": ids([[0, 1, 7]])}, r"rules\[2\] = 7"),
        "rule columns": ({"rules": ids([[0, 1]])}, "shape"),
        "short tested": ({"tested": np.array([True])}, "tested must hold 3"),
        "short base offsets": ({"base_offsets": np.array([0], np.int64)}, "base_offsets must hold"),
        "strided": ({"data": np.arange(4, dtype=np.uint8)[::2]}, "C-contiguous"),
        "two dimensions": ({"base": ids([[0, 1]])}, "one dimension"),
    }


@pytest.mark.parametrize("case", bad_models())
def test_bad_models_are_refused(case: str) -> None:
    good = oracle.model({0: b"a", 1: b"b", 2: b""}, rules=[(0, 1, 2)])
    changes, message = bad_models()[case]
    with pytest.raises(ValueError, match=message):
        BpeEncoder(dataclasses.replace(good, **changes))


def test_wrong_dtypes_and_ids_are_refused() -> None:
    good = oracle.model({0: b"a", 1: b"b"}, rules=[(0, 1, 1)])
    with pytest.raises(TypeError, match=r"base.*uint32"):
        BpeEncoder(dataclasses.replace(good, base=good.base.astype(np.int64)))
    encoder = BpeEncoder(good)
    with pytest.raises(ValueError, match=r"base\[0\] = 2"):
        encoder.encode(ids([2]))
    with pytest.raises(ValueError, match=r"base\[1\] = 9"):
        encoder.encode_batch(ids([0, 9]), np.array([0, 2]))
    with pytest.raises(ValueError, match=r"offsets.* 2\b"):
        encoder.encode_batch(ids([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="threads"):
        encoder.encode_batch(ids([0, 1]), np.array([0, 2]), 0)
    with pytest.raises(TypeError, match="dtype uint32"):
        encoder.encode(np.array([0.5]))


def test_encoder_keeps_its_arrays_alive() -> None:
    encoder = BpeEncoder(
        oracle.model({0: b"a", 1: b"b", 2: b"a" * 9, 3: b"b" * 9, 4: b"a" * 9 + b"b" * 9}, ranks={4: 0})
    )
    assert encoder.encode(ids([2, 3])).tolist() == [4]
