"""Texts to train on, and trained models as the oracles have them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from oracles import bpe as oracle
from pyharness.bpe import TrainedBpe

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]


def words_of(vector: dict[str, Any]) -> dict[bytes, int]:
    given_ = vector["input"]
    words = given_["words"] if "words" in given_ else dict(given_["words_in_order"])
    return {word.encode("latin-1"): count for word, count in words.items()}


def random_corpus(generator: random.Random) -> dict[bytes, int]:
    """Few letters, so that ties, runs and exhausted corpora are common; sometimes all bytes."""
    alphabet = generator.choice([b"a", b"ab", b"abc", b"abcd", b"ab\xe4\xb8\xad ", bytes(range(256))])
    longest = generator.choice([3, 9, 40])
    return {
        bytes(generator.choices(alphabet, k=generator.randint(1, longest))): generator.randint(1, 9)
        for _ in range(generator.randint(1, 14))
    }


def rules_of(model: TrainedBpe) -> list[oracle.Rule]:
    return [(left, right, result) for left, right, result in model.rules.tolist()]
