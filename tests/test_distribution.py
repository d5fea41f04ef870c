"""Distribution metrics against their definitions, the published scorer and the vectors."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tokenization_scorer

from oracles import metrics as oracle
from pyharness.metrics import distribution, pairs
from pyharness.metrics.state import Counts, Facts, Undefined
from pyharness.types import Tokens

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))["vectors"]["metrics"]


def counts_of(tokens: list[Any], vocab_size: int | None = None) -> Counts:
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    histogram = np.bincount([ids[token] for token in tokens], minlength=len(ids)).astype(np.uint64)
    facts = Facts(vocab_size or len(ids), np.ones(len(ids), np.bool_), None, lossy=False)
    return Counts({"tokens": len(tokens)}, histogram, facts)


@pytest.mark.parametrize("seed", range(200))
def test_equals_the_published_scorer(seed: int) -> None:
    generator = random.Random(seed)
    kinds = generator.randint(2, 60)
    tokens = [f"t{min(int(generator.expovariate(3 / kinds)), kinds - 1)}" for _ in range(generator.randint(5, 400))]
    if len(set(tokens)) < 2:
        tokens += ["other"]
    text = " ".join(tokens)
    counts = counts_of(tokens)
    p = counts.probabilities
    scored = tokenization_scorer.score(text, metric="renyi", power=2.5)
    assert distribution.renyi_efficiency_observed(counts) == pytest.approx(scored, rel=0, abs=1e-12)
    shannon = tokenization_scorer.score(text, metric="shannon_efficiency")
    ours = distribution.efficiency(distribution.renyi_entropy(p, 1), len(p))
    assert ours == pytest.approx(shannon, rel=0, abs=1e-12)
    expected = tokenization_scorer.score(text, metric="percentile_freq", perc_start=0.03, perc_end=0.83)
    assert distribution.percentile_frequency(p) == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    expected = vector["expected"]
    counts = counts_of(vector["input"]["tokens"])
    p = counts.probabilities
    renyi, shannon = (distribution.renyi_entropy(p, alpha) for alpha in (2.5, 1))
    found = {
        "renyi_entropy_2.5_bits": renyi,
        "shannon_bits": shannon,
        "percentile_freq_3_83": distribution.percentile_frequency(p),
        "percentile_freq_30_60": distribution.percentile_frequency(p, 0.30, 0.60),
        "renyi_2.5_vocab100": distribution.renyi_efficiency(counts_of(vector["input"]["tokens"], 100)),
    }
    for name, value in found.items():
        assert value == pytest.approx(expected[name], abs=1e-12), name
    if expected["renyi_2.5_observed"] is None:
        with pytest.raises(Undefined, match="two token types"):
            distribution.renyi_efficiency_observed(counts)
    else:
        assert distribution.renyi_efficiency_observed(counts) == pytest.approx(
            expected["renyi_2.5_observed"], abs=1e-12
        )


@pytest.mark.parametrize("alpha", [0, 0.5, 1, 2, 2.5, 3, math.inf])
def test_renyi_of_uniform_is_log_of_types(alpha: float) -> None:
    assert distribution.renyi_entropy(np.full(8, 1 / 8), alpha) == pytest.approx(3, abs=1e-12)


def test_renyi_is_continuous_at_one() -> None:
    p = np.array([0.5, 0.3, 0.2])
    near = distribution.renyi_entropy(p, 1 + 1e-7)
    assert near == pytest.approx(distribution.renyi_entropy(p, 1), abs=1e-6)


def test_efficiency_counts_dead_tokens() -> None:
    tokens = list("abcdabcdaabb")
    assert distribution.renyi_efficiency(counts_of(tokens, 100)) < distribution.renyi_efficiency_observed(
        counts_of(tokens)
    )
    assert distribution.redundancy(counts_of(tokens, 100)) == pytest.approx(
        1 - oracle.renyi_entropy(oracle.probabilities(tokens), 1) / math.log2(100), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_pair_metrics_follow_their_definitions(seed: int) -> None:
    tokens = random.Random(seed).choices(range(6), k=80)
    laid_out = Tokens.from_lists([tokens])
    found = {m.metric: m.value for m in pairs.measure(laid_out)}
    conditional = oracle.conditional_entropy(tokens)
    assert found["bigram_entropy"] == pytest.approx(conditional, abs=1e-12)
    following = oracle.renyi_entropy(oracle.probabilities(tokens[1:]), 1)
    assert found["mutual_information"] == pytest.approx(following - conditional, abs=1e-12)


def test_pairs_do_not_cross_documents() -> None:
    apart = pairs.measure(Tokens.from_lists([[1], [2], [3]]))
    assert [m.value for m in apart] == [None, None]
    assert apart[0].reason is not None
    assert (
        SimpleNamespace(
            **{m.metric: m.value for m in pairs.measure(Tokens.from_lists([[1, 2], [1, 3]]))}
        ).bigram_entropy
        == 1.0
    )
