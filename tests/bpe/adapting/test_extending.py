"""Continued BPE against encoding everything again after every rule, and against the encoder of what it makes."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, get_args

import numpy as np
import pytest

from extended_models import extended_model, random_base
from oracles import extending as oracle
from oracles.extending import Grown
from pyharness.bpe import WeightedPieces, self_tokenization
from pyharness.bpe.adapting.extending import Continued, continued
from pyharness.bpe.adapting.model_pieces import encoded
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import TieRule
from pyharness.types import Extension

CASES = 500


def drawn_words(generator: random.Random, model: BpeModel) -> dict[bytes, int]:
    letters = sorted(model.alphabet)
    longest = generator.choice([3, 9, 30])
    return {
        b"".join(generator.choices(letters, k=generator.randint(1, longest))): generator.randint(1, 9)
        for _ in range(generator.randint(1, 14))
    }


def drawn_options(generator: random.Random, ties: str) -> dict[str, Any]:
    return {
        "ties": ties,
        "min_frequency": generator.choice([1, 1, 2, 7]),
        "max_length": generator.choice([None, None, 3, 6]),
        "max_characters": generator.choice([None, None, 2, 5]),
    }


def reserved(model: BpeModel, base: Grown) -> set[bytes]:
    return {model.vocabulary[token] for token in range(model.id_limit)} - {b""} - set(base.strings.values())


def ours(model: BpeModel, words: dict[bytes, int], tokens: int, options: dict[str, Any], **more: Any) -> Continued:
    return continued(
        model, WeightedPieces.of_bytes(words), tokens, tie_rule=options["ties"],
        min_frequency=options["min_frequency"], max_token_length=options["max_length"],
        max_token_characters=options["max_characters"], **more,
    )  # fmt: skip


def rows(extension: Extension) -> list[tuple[int, ...]]:
    return [tuple(rule) for rule in extension.rules.tolist()]


def assert_replays(model: BpeModel, words: dict[bytes, int], done: Continued) -> None:
    """The encoder of the extended model gives the last state of every piece."""
    grown = extended_model(model, done.extension)
    states = encoded(grown, WeightedPieces.of_bytes(words), whole_pieces=model.whole_pieces)
    kept = [states.document(index).tolist() for index in np.flatnonzero(done.trained_on)]
    assert kept == [done.states.document(index).tolist() for index in range(len(kept))]


@pytest.mark.parametrize("form", ["rules", "ranks"])
@pytest.mark.parametrize("ties", get_args(TieRule))
def test_extending_equals_encoding_again(form: str, ties: TieRule) -> None:
    existing = incomplete = unreachable = 0
    for seed in range(CASES if ties == "smallest_ids" else 100):
        generator = random.Random(seed)
        model, base = random_base(generator, ranks=form == "ranks")
        words, options = drawn_words(generator, model), drawn_options(generator, ties)
        tokens = generator.choice([0, 1, 4, 12, 40])
        denied = reserved(model, base)
        ends = generator.choice([b"", b"", b"a", b"ab"])

        def denies(string: bytes, ends: bytes = ends, denied: set[bytes] = denied) -> bool:
            return string in denied or (ends != b"" and string.endswith(ends))

        expected = oracle.extend(base, model.id_limit, words, tokens, **options, denies=denies)
        done = ours(
            model, words, tokens, options,
            denies=lambda text, ends=ends: ends != b"" and text.endswith(ends.decode()),
        )  # fmt: skip
        assert rows(done.extension) == expected.learnt, seed
        assert done.extension.counts.tolist() == expected.counts, seed
        assert list(done.extension.tokens) == [expected.strings[token] for token in expected.added], seed
        assert done.extension.complete == (len(expected.added) == tokens), seed
        assert_replays(model, words, done)
        existing += any(rule[2] < model.id_limit for rule in expected.learnt)
        incomplete += not done.extension.complete
        failed = self_tokenization(extended_model(model, done.extension).merges).failed
        assert not (failed >= model.id_limit).any(), seed
        unreachable += len(failed) > 0
    assert (existing > 0) == (form == "rules")
    assert min(incomplete, unreachable) > 0


def test_a_shorter_training_is_the_beginning_of_a_longer_one() -> None:
    cut = 0
    for seed in range(150):
        generator = random.Random(seed)
        model, _ = random_base(generator, ranks=seed % 2 == 1)
        words, options = drawn_words(generator, model), drawn_options(generator, "smallest_ids")
        long = ours(model, words, 30, options).extension
        for tokens in {0, 1, 2, len(long.tokens) // 2, len(long.tokens)}:
            if tokens > len(long.tokens):
                continue
            short, first = ours(model, words, tokens, options).extension, long.first(tokens)
            assert (short.tokens, rows(short), short.complete) == (first.tokens, rows(first), True), (seed, tokens)
            assert short.counts.tolist() == first.counts.tolist(), seed
            cut += len(first.rules) < len(long.rules)
    assert cut > 50


def test_without_a_cascade_as_the_specification_reads() -> None:
    broken = 0
    for seed in range(CASES):
        generator = random.Random(seed)
        model, base = random_base(generator, ranks=False)
        while len(base.strings) < model.id_limit:
            model, base = random_base(generator, ranks=False)  # without gaps: its new ids follow the largest
        words, options = drawn_words(generator, model), drawn_options(generator, "smallest_ids")
        tokens = generator.choice([0, 1, 4, 12, 40])
        plain = options | {"max_length": None, "max_characters": None}
        _, learnt, counted = oracle.continued(base.strings, base.rules or [], words, tokens, options["min_frequency"])
        done = ours(model, words, tokens, plain, cascade=False, whole_pieces=False)
        assert (rows(done.extension), done.extension.counts.tolist()) == (learnt, counted), seed
        try:
            assert_replays(dataclasses.replace(model, whole_pieces=False), words, done)
        except AssertionError:
            broken += 1
    assert broken > 0  # which is why there is a cascade
