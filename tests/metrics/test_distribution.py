"""Distribution metrics against their definitions, the published scorer and the vectors."""

from __future__ import annotations

import json
import math
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenization_scorer
from hypothesis import given
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles import metrics as oracle
from pyharness.metrics import distribution
from pyharness.metrics.counting.state import Counts, Facts, Shares
from pyharness.statistics.jackknife import Undefined
from pyharness.types import Measurement, TokenKind, Tokens, Vocabulary

SUPPORT = Path(__file__).parents[1] / "support"
VECTORS = json.loads((SUPPORT / "vectors.json").read_text(encoding="utf-8"))["vectors"]["metrics"]


def counts_of(tokens: list[Any], vocab_size: int | None = None) -> Counts:
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    histogram = np.bincount([ids[token] for token in tokens], minlength=len(ids)).astype(np.uint64)
    facts = Facts(vocab_size or len(ids), np.ones(len(ids), np.bool_), None, lossy=False)
    return Counts({"tokens": len(tokens)}, histogram, facts)


@pytest.mark.parametrize("seed", range(examples(200)))
def test_equals_the_published_scorer(seed: int) -> None:
    generator = random.Random(seed)
    kinds = generator.randint(2, 60)
    tokens = [f"t{min(int(generator.expovariate(3 / kinds)), kinds - 1)}" for _ in range(generator.randint(5, 400))]
    if len(set(tokens)) < 2:
        tokens += ["other"]
    text = " ".join(tokens)
    counts = counts_of(tokens)
    p = counts.shares.all
    scored = tokenization_scorer.score(text, metric="renyi", power=2.5)
    assert distribution.renyi_efficiency_observed(counts) == pytest.approx(scored, rel=0, abs=1e-12)
    shannon = tokenization_scorer.score(text, metric="shannon_efficiency")
    ours = distribution.efficiency(distribution.renyi_entropy(counts.shares, 1), len(p))
    assert ours == pytest.approx(shannon, rel=0, abs=1e-12)
    expected = tokenization_scorer.score(text, metric="percentile_freq", perc_start=0.03, perc_end=0.83)
    assert distribution.percentile_frequency(p) == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    expected = vector["expected"]
    counts = counts_of(vector["input"]["tokens"])
    p = counts.shares.all
    renyi, shannon = (distribution.renyi_entropy(counts.shares, alpha) for alpha in (2.5, 1))
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


# Kinds of the ids that a tokenizer has, and how often it emits each.
USES = st.lists(st.tuples(st.sampled_from(TokenKind), st.one_of(st.integers(0, 3), st.integers(0, 10**6))), max_size=12)


def counts_of_kinds(uses: list[tuple[TokenKind, int]], *, hidden: bool = False) -> Counts:
    """State of a pass in which an id of each of these kinds was emitted so often."""
    tokens = {token: b"t%d" % token for token in range(len(uses))}
    vocabulary = Vocabulary.from_tokens(tokens, {token: kind for token, (kind, _) in enumerate(uses)})
    histogram = np.array([0 if kind is TokenKind.ABSENT else count for kind, count in uses], np.uint64)
    counted = np.ones(len(uses), np.bool_) if hidden else vocabulary.counted
    facts = Facts(int(vocabulary.counted.sum()), counted, None if hidden else vocabulary, lossy=True)
    return Counts({"tokens": int(histogram.sum())}, histogram, facts)


UNKNOWN_BESIDE_TWO = [(TokenKind.NORMAL, 1), (TokenKind.NORMAL, 1), (TokenKind.UNKNOWN, 1), (TokenKind.NORMAL, 0)]


def test_a_tokenizer_with_unknown_tokens_has_the_scorers_efficiency() -> None:
    counts = counts_of_kinds(UNKNOWN_BESIDE_TWO)
    scored = tokenization_scorer.score("a b <unk>", metric="renyi", power=2.5)
    assert distribution.renyi_efficiency_observed(counts) == pytest.approx(scored, abs=1e-12)
    assert scored == pytest.approx(1.0), "log2 3 / log2 2 = 1.585 was printed when V_obs left the unknown token out"
    # V = 3 and the unknown token: four types, of which three share the text evenly.
    assert distribution.renyi_efficiency(counts) == pytest.approx(math.log2(3) / 2, abs=1e-12)
    assert distribution.redundancy(counts) == pytest.approx(1 - math.log2(3) / 2, abs=1e-12)
    assert distribution.renyi_entropy(counts.shares, 0) == math.log2(3)
    assert distribution.vocabulary_used(counts) == 2 / 3, "V lacks it"


def test_descriptions_name_the_denominator() -> None:
    of = {one.about.name: one.about.summary for one in distribution.METRICS}
    assert [name for name, text in of.items() if "log2 V'" in text] == ["renyi_efficiency", "redundancy"]
    assert not [name for name, text in of.items() if re.search(r"log2 V(?!['_])", text)]


def test_an_unknown_token_that_does_not_occur_changes_nothing() -> None:
    without = [(TokenKind.NORMAL, 5), (TokenKind.NORMAL, 2), (TokenKind.NORMAL, 0)]
    plain, counts = (
        counts_of_kinds(without),
        counts_of_kinds([*without, (TokenKind.UNKNOWN, 0), (TokenKind.SPECIAL, 0)]),
    )
    for metric in distribution.METRICS:
        if metric.name != "mean_token_bytes":
            assert metric.compute(counts) == metric.compute(plain), metric.name


@given(USES, st.booleans())
def test_shares_stay_between_0_and_1(uses: list[tuple[TokenKind, int]], hidden: bool) -> None:
    counts = counts_of_kinds(uses, hidden=hidden)
    for metric in distribution.METRICS:
        if metric.about.unit != "share":
            continue
        try:
            value = metric.compute(counts)
        except Undefined:
            continue
        assert 0 <= value <= 1, (metric.name, value)


@given(USES)
def test_entropies_fall_with_their_order_and_stay_below_that_of_an_even_spread(
    uses: list[tuple[TokenKind, int]],
) -> None:
    counts = counts_of_kinds(uses)
    if not counts["tokens"]:
        return
    names = ("renyi_entropy_0", "shannon_entropy", "renyi_entropy_2", "renyi_entropy_2.5", "renyi_entropy_inf")
    metrics = {metric.name: metric for metric in distribution.METRICS}
    values = [metrics[name].compute(counts) for name in names]
    assert all(after <= before + 1e-9 for before, after in pairwise(values)), values
    assert values[-1] >= 0
    types = np.count_nonzero(counts.histogram)
    assert values[0] == math.log2(types)


@given(USES.filter(lambda uses: sum(count for kind, count in uses if count and kind is not TokenKind.ABSENT) > 0))
def test_the_scorer_agrees_whatever_kinds_of_tokens_there_are(uses: list[tuple[TokenKind, int]]) -> None:
    uses = [(kind, min(count, 40)) for kind, count in uses]
    counts = counts_of_kinds(uses)
    words = [f"t{token}" for token, count in enumerate(counts.histogram.tolist()) for _ in range(count)]
    if len(set(words)) < 2:
        with pytest.raises(Undefined, match="two token types"):
            distribution.renyi_efficiency_observed(counts)
        return
    scored = tokenization_scorer.score(" ".join(words), metric="renyi", power=2.5)
    assert distribution.renyi_efficiency_observed(counts) == pytest.approx(scored, rel=0, abs=1e-12)


def test_an_engine_that_hides_its_vocabulary_and_emits_more_than_v_has_no_used_share() -> None:
    counts = counts_of_kinds(UNKNOWN_BESIDE_TWO[:3], hidden=True)
    with pytest.raises(Undefined, match=r" V .*\b2\b"):
        distribution.vocabulary_used(counts)
    assert distribution.renyi_efficiency(counts) == 1.0


def test_tokens_times_bytes_may_pass_64_bits() -> None:
    vocabulary = Vocabulary.from_tokens({0: b"a", 1: b"b" * 1000}, {})
    histogram = np.array([1 << 62, 1 << 62], np.uint64)
    counts = Counts({}, histogram, Facts(2, vocabulary.counted, vocabulary, lossy=False))
    metric = next(metric for metric in distribution.METRICS if metric.name == "mean_token_bytes")
    assert metric.compute(counts) == 1001 / 2


@pytest.mark.parametrize("seed", range(examples(100)))
def test_equal_shares_are_computed_with_once_and_summed_one_by_one(seed: int) -> None:
    """To the last bit: against every id's own share, sorted."""
    generator = np.random.default_rng(seed)
    scale = generator.choice([3, 1000, 1 << 33])
    histogram = generator.integers(0, scale, generator.integers(1, 3000)).astype(np.uint64)
    histogram[0] += 1
    p = np.sort(histogram[histogram > 0])[::-1].astype(np.float64)
    p /= p.sum()
    shares = Shares.of(histogram)
    assert shares.all.tolist() == p.tolist()
    assert shares.renyi_sum(1) == float((p * np.log2(p)).sum())
    assert [shares.renyi_sum(alpha) for alpha in (2, 2.5)] == [float((p**alpha).sum()) for alpha in (2, 2.5)]


@pytest.mark.parametrize("alpha", [0, 0.5, 1, 2, 2.5, 3, math.inf])
def test_renyi_of_uniform_is_log_of_types(alpha: float) -> None:
    assert distribution.renyi_entropy(Shares.of(np.full(8, 3, np.uint64)), alpha) == pytest.approx(3, abs=1e-12)


@pytest.mark.parametrize("alpha", [0, 0.5, 1, 2, 2.5, math.inf])
def test_one_type_has_entropy_zero_without_a_sign(alpha: float) -> None:
    assert math.copysign(1, distribution.renyi_entropy(Shares.of(np.ones(1, np.uint64)), alpha)) == 1


def test_renyi_is_continuous_at_one() -> None:
    shares = Shares.of(np.array([5, 3, 2], np.uint64))
    near = distribution.renyi_entropy(shares, 1 + 1e-7)
    assert near == pytest.approx(distribution.renyi_entropy(shares, 1), abs=1e-6)


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
    found = {m.metric: m.value for m in distribution.measure_pairs(distribution.count_pairs(laid_out))}
    conditional = oracle.conditional_entropy(tokens)
    assert found["bigram_entropy"] == pytest.approx(conditional, abs=1e-12)
    following = oracle.renyi_entropy(oracle.probabilities(tokens[1:]), 1)
    assert found["mutual_information"] == pytest.approx(following - conditional, abs=1e-12)


def test_pairs_do_not_cross_documents() -> None:
    apart = _measured([1], [2], [3])
    assert [one.value for one in apart.values()] == [None, None]
    assert apart["bigram_entropy"].reason is not None
    assert _measured([1, 2], [1, 3])["bigram_entropy"].value == 1.0


def _measured(*documents: list[int]) -> dict[str, Measurement]:
    pairs = distribution.count_pairs(Tokens.from_lists(documents))
    return {one.metric: one for one in distribution.measure_pairs(pairs)}
