"""Naive extension against its definition, and why it is the baseline."""

from __future__ import annotations

import random

import numpy as np
import pytest

from extended_models import extended_merges, random_base
from oracles import extending as oracle
from oracles.bpe import BYTES
from pyharness.bpe import WeightedPieces, model_of_training, self_tokenization, train
from pyharness.bpe.formats.imports import model_of_sentencepiece
from pyharness.features.adaptation.bpe.extension import extend, extend_naively
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel

CASES = 500


@pytest.mark.parametrize("form", ["rules", "ranks"])
def test_naive_equals_its_definition(form: str) -> None:
    unreachable = several = 0
    for seed in range(CASES):
        generator = random.Random(seed)
        model, base = random_base(generator, ranks=form == "ranks")
        while model.id_limit - 1 not in base.strings:  # new ids of the oracle follow the largest
            model, base = random_base(generator, ranks=form == "ranks")
        letters = sorted(model.alphabet)
        words = {
            b"".join(generator.choices(letters, k=generator.randint(1, 12))): generator.randint(1, 9)
            for _ in range(generator.randint(1, 14))
        }
        tokens, size, least = generator.choice([0, 1, 4, 30]), generator.choice([0, 4, 40]), generator.choice([1, 2])
        special = {model.vocabulary[token] for token in range(model.id_limit)} - set(base.strings.values())
        taken = special | set(BYTES)
        new, rules = oracle.naive(base.strings, base.rules or [], words, tokens, 256 + size, least, taken)
        extension = extend_naively(
            model, WeightedPieces.of_bytes(words), tokens, auxiliary_size=len(letters) + size, min_frequency=least
        )
        assert list(extension.tokens) == new, seed
        assert [tuple(rule) for rule in extension.rules.tolist()] == (rules if form == "rules" else []), seed
        assert extension.complete == (len(new) == tokens), seed
        several += len(rules) > len(new)
        if form == "rules":
            grown = extended_merges(model, extension)
            unreachable += bool((self_tokenization(grown).failed >= model.id_limit).any())
    assert several > 50
    assert unreachable > 0 or form == "ranks"  # of what continued BPE adds, nothing is


def test_pieces_of_characters_are_those_that_the_model_can_spell() -> None:
    pieces = ["<unk>", "a", "b", "▁", "ab"]
    kinds = [PieceType.UNKNOWN, *[PieceType.NORMAL] * 4]
    file = SentencePieceModel(tuple(pieces), (0.0, -9.0, -9.0, -9.0, -1.0), tuple(kinds), ModelType.BPE)
    model = model_of_sentencepiece(file, "the file")
    words = {"▁abab": 5, "▁éé": 7, "éab": 7, "abé": 7}
    counted = WeightedPieces.of_bytes({word.encode(): count for word, count in words.items()})
    extension = extend_naively(model, counted, 9)
    assert extension.tokens == ("▁ab".encode(), "▁abab".encode())
    assert len(extension.rules) == 0


def test_a_smaller_extension_has_no_rules_of_what_comes_later() -> None:
    model = model_of_training(train(WeightedPieces.of_bytes({b"ab": 5}), 257), "gpt2")
    pieces = WeightedPieces.of_bytes({b"abcd": 5, b"bcd": 9})
    long, short = extend_naively(model, pieces, 3), extend_naively(model, pieces, 1)
    assert long.first(1).tokens == short.tokens
    assert long.first(1).rules.tolist() == short.rules.tolist()
    assert len(long.rules) > len(short.rules)


def test_sizes_out_of_range() -> None:
    model = model_of_training(train(WeightedPieces.of_bytes({b"ab": 5}), 257), "gpt2")
    pieces = WeightedPieces.of_bytes({b"abcd": 5})
    with pytest.raises(InputError, match=r"auxiliary_size is 9;.*\b256"):
        extend_naively(model, pieces, 1, auxiliary_size=9)
    with pytest.raises(InputError, match="cannot be added"):
        extend_naively(model, pieces, -1)
    assert np.array_equal(extend_naively(model, pieces, 0).rules, extend(model, pieces, 0).rules)
