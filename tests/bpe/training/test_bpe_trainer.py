"""Plain BPE against recounting everything before each merge, with every tie rule."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.training_texts import VECTORS, random_corpus, rules_of, words_of
from layout.thoroughness import examples
from oracles import bpe as oracle
from pyharness.bpe import TrainedBpe, WeightedPieces, train
from pyharness.types import InputError, TieRule

TIES = get_args(TieRule)


def strings(model: TrainedBpe) -> dict[int, bytes]:
    return {token: model[token] for token in range(len(model))}


@pytest.mark.parametrize("vector", VECTORS["bpe_train"], ids=lambda vector: vector["name"])
def test_plain_vectors(vector: dict[str, Any]) -> None:
    ties = "first_seen" if vector["input"]["ties"] == "first_seen" else "smallest_ids"
    model = train(WeightedPieces.of_bytes(words_of(vector)), vector["input"]["vocab_size"], tie_rule=ties)  # type: ignore[arg-type]
    found = [
        [model[left].decode(), model[right].decode(), count]
        for (left, right, _), count in zip(model.rules.tolist(), model.counts.tolist(), strict=True)
    ]
    assert found == vector["expected"]["merges_left_right_count"]


@pytest.mark.parametrize("ties", TIES)
def test_plain_equals_recounting(ties: TieRule) -> None:
    for seed in range(examples(1000)):
        generator = random.Random(seed)
        words = random_corpus(generator)
        size = 256 + generator.choice([0, 3, 12, 60])
        least, longest = generator.choice([1, 1, 2, 7]), generator.choice([None, None, 2, 5])
        characters = generator.choice([None, None, 1, 3])
        counted: list[int] = []
        vocabulary, rules = oracle.train(words, size, ties, least, longest, counted, max_characters=characters)
        model = train(
            WeightedPieces.of_bytes(words), size, tie_rule=ties, min_frequency=least, max_token_length=longest,
            max_token_characters=characters,
        )  # fmt: skip
        assert rules_of(model) == rules, seed
        assert model.counts.tolist() == counted, seed
        assert strings(model) == vocabulary, seed
        assert model.complete == (len(vocabulary) == size), seed


@given(
    st.dictionaries(
        st.binary(min_size=1, max_size=12),
        st.integers(1, 2**40) | st.integers(2**31 - 2, 2**31 + 1),  # 31 bits hold nearly all weights
        min_size=1,
        max_size=8,
    ),
    st.integers(256, 300),
    st.sampled_from(TIES),
)
def test_plain_equals_recounting_anything(words: dict[bytes, int], size: int, ties: TieRule) -> None:
    vocabulary, rules = oracle.train(words, size, ties)
    model = train(WeightedPieces.of_bytes(words), size, tie_rule=ties)
    assert (rules_of(model), strings(model)) == (rules, vocabulary)


@pytest.mark.parametrize("ties", TIES)
def test_thousands_of_equal_counts_and_long_runs(ties: TieRule) -> None:
    equal = {bytes([left, right]): 7 for left in range(60) for right in range(50)}
    runs = {unit * (length // len(unit)): 2**31 for unit in (b"a", b"ab", b"aab") for length in (255, 256, 1025)}
    for words in (equal, runs):
        vocabulary, rules = oracle.train(words, 280, ties)
        model = train(WeightedPieces.of_bytes(words), 280, tie_rule=ties)
        assert (rules_of(model), strings(model)) == (rules, vocabulary)


@pytest.mark.parametrize("ties", TIES)
def test_symbols_that_merges_make_a_second_time(ties: TieRule) -> None:
    """Places of a pair are then met in several merges, in no order."""
    base = [b"a", b"b", b"aa", b"ab", b"aab", b"abab"]
    ends = np.cumsum([0, *map(len, base)])
    for seed in range(examples(300)):
        generator = random.Random(seed)
        letters = bytes(generator.choice([[0, 2], [0, 1, 3], range(len(base))]))
        words = {bytes(generator.choices(letters, k=generator.randint(1, 30))): seed % 7 + 1 for _ in range(6)}
        flat = WeightedPieces.of_bytes(words)
        pieces = WeightedPieces(flat.symbols, flat.offsets, flat.weights, np.frombuffer(b"".join(base), np.uint8), ends)
        vocabulary, rules = oracle.train(words, 24, ties, base=base)
        model = train(pieces, 24, tie_rule=ties)
        assert (rules_of(model), strings(model)) == (rules, vocabulary), seed


def test_the_order_of_pieces_matters_to_first_seen_only() -> None:
    words = {b"ba": 2, b"ab": 2, b"cd": 2}
    backwards = dict(reversed(words.items()))
    for ties in TIES:
        one, other = (train(WeightedPieces.of_bytes(text), 257, tie_rule=ties)[256] for text in (words, backwards))
        assert (one == other) == (ties != "first_seen")


def test_weights_and_empty_pieces() -> None:
    counted = train(WeightedPieces.of_bytes({b"ab": 3, b"": 5, b"bc": 0, b"cd": 2**61}), 300)
    assert [counted[token] for token in range(256, len(counted))] == [b"cd", b"ab"]
    assert counted.counts.tolist() == [2**61, 3]
    assert not counted.complete


def test_characters() -> None:
    model = train(WeightedPieces.of_characters({"中文中": 2, "文中": 1}), 4)
    assert strings(model) == {0: "中".encode(), 1: "文".encode(), 2: "文中".encode(), 3: "中文中".encode()}
    given_ = WeightedPieces.of_characters({"ab": 1}, alphabet=["b", "z", "a"])
    assert given_.symbols.tolist() == [2, 0]
    with pytest.raises(InputError, match=r"alphabet.*'b'"):
        WeightedPieces.of_characters({"ab": 1}, alphabet=["a"])
    with pytest.raises(InputError, match=r"alphabet.*'a'"):
        WeightedPieces.of_characters({"ab": 1}, alphabet=[])


def test_equals_the_trainer_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for seed in range(examples(300)):
        generator = random.Random(seed)
        letters = generator.choice(["ab", "abc", "abcdefgh"])
        words = Counter(
            "".join(generator.choices(letters, k=generator.randint(1, 9))) for _ in range(generator.randint(1, 40))
        )
        least = generator.choice([1, 2, 3])
        size = 256 + generator.choice([5, 20, 80])
        theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
        theirs.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size - 256 + len(set("".join(words))), min_frequency=least, show_progress=False
        )
        theirs.train_from_iterator([" ".join(words.elements())], trainer)
        merges = [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
        model = train(WeightedPieces.of_bytes({w.encode(): n for w, n in words.items()}), size, min_frequency=least)
        assert [(model[left].decode(), model[right].decode()) for left, right, _ in rules_of(model)] == merges, seed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 255}, "vocab_size.*256"),
        ({"vocab_size": 1 << 31}, "vocab_size.*2147483648"),
        ({"vocab_size": 300, "min_frequency": 0}, "min_frequency.*1"),
        ({"vocab_size": 300, "max_token_length": 0}, "max_token_length.*1"),
        ({"vocab_size": 300, "max_token_characters": 0}, "max_token_characters.*0.*1"),
        ({"vocab_size": 300, "scaffold": True, "tie_rule": "first_seen"}, "Scaffold.*'smallest_ids'.*'first_seen'"),
        ({"vocab_size": 300, "tie_rule": "random"}, "'random'.*smallest_ids"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(WeightedPieces.of_bytes({b"ab": 1}), **options)


def test_weights_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"b'ab' .*weight.*-1"):
        WeightedPieces.of_bytes({b"ab": -1})
    with pytest.raises(ValueError, match="63 bits"):
        train(WeightedPieces.of_bytes({b"ab": 2**62, b"cd": 2**62}), 300)


def test_a_corpus_without_pairs() -> None:
    for words in ({}, {b"a": 5}, {b"": 1}):
        model = train(WeightedPieces.of_bytes(words), 300)
        assert (len(model), model.complete, model.rules.shape) == (256, False, (0, 3))


def test_what_progress_throws_ends_the_training() -> None:
    def stop(tokens: int) -> None:
        raise KeyboardInterrupt(tokens)

    words = {bytes([a, b]): a * 256 + b + 1 for a in range(64) for b in range(64)}
    with pytest.raises(KeyboardInterrupt):
        train(WeightedPieces.of_bytes(words), 4000, progress=stop)
