"""Premiums of languages: definitions, merging, and real text."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyharness
from pyharness import corpora, tokenizers
from pyharness.metrics import fairness
from pyharness.types import ParallelCorpus, Tally


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_gini_follows_its_definition(costs: list[int]) -> None:
    count, mean = len(costs), sum(costs) / len(costs)
    expected = sum(abs(a - b) for a, b in product(costs, costs)) / (2 * count**2 * mean)
    assert fairness.gini(np.array(costs, np.int64)) == pytest.approx(expected, abs=1e-12)


def test_premiums_are_ratios_of_sums() -> None:
    corpus = corpora.open_corpus("sample:parallel")
    assert isinstance(corpus, ParallelCorpus)
    run = pyharness.run(tokenizers=["mistral:v3"], corpora=["sample:parallel"], benchmarks=["fairness"])
    result = run.record.of("fairness")[0]
    model = tokenizers.load("mistral:v3")
    rows = list(corpus.rows(Tally()))
    tokens = {
        language: sum(len(model.encode_batch([row[language]]).ids) for row in rows)
        for language in ("eng_Latn", "tha_Thai")
    }
    parity = {m.part: m for m in result.measurements if m.metric == "parity"}
    assert parity["tha_Thai"].value == tokens["tha_Thai"] / tokens["eng_Latn"]
    assert len(parity) == len(corpus.languages) - 1
    premium = {m.part: m.value for m in result.measurements if m.metric == "bytes_premium"}
    sizes = {language: sum(len(row[language].encode()) for row in rows) for language in ("eng_Latn", "tha_Thai")}
    assert premium["tha_Thai"] == sizes["tha_Thai"] / sizes["eng_Latn"]
    assert len(parity["tha_Thai"].replicates) == 32


def test_states_merge() -> None:
    generator = np.random.default_rng(0)
    states = [fairness.FairnessState.empty(("a", "b", "c"), "a") for _ in range(3)]
    for number in range(200):
        tokens, sizes = generator.integers(1, 50, 3), generator.integers(1, 200, 3)
        states[0].update(number % 32, tokens, sizes)
        states[1 + number % 2].update(number % 32, tokens, sizes)
    states[1].merge(states[2])
    assert fairness.measure(states[1]) == fairness.measure(states[0])


def test_a_language_without_tokens_has_no_premium() -> None:
    state = fairness.FairnessState.empty(("a", "b", "c"), "a")
    for group in range(32):
        state.update(group, np.array([4, 0, 6]), np.array([4, 4, 4]))
    parity = {one.part: (one.value, one.reason) for one in fairness.measure(state) if one.metric == "parity"}
    assert parity == {"b": (None, "b produced no tokens"), "c": (1.5, None)}


@pytest.mark.data
def test_flores_premiums_are_those_known_of_gpt2(data: Path) -> None:
    flores = f"parallel:{data}/corpora/parallel/flores200?languages=eng_Latn,deu_Latn,shn_Mymr&max_bytes=1MB"
    result = pyharness.run(
        tokenizers=[f"file:{data}/tokenizers/gpt2/tokenizer.json"], corpora=[flores], benchmarks=["fairness"]
    )
    parity = {m.part: m.value for m in result.record.of("fairness")[0].measurements if m.metric == "parity"}
    # Petrov et al. 2023, table 1 (GPT-2): German 2.14, Shan 18.76 on the whole of FLORES-200.
    assert parity["deu_Latn"] == pytest.approx(2.14, abs=0.1)
    assert parity["shn_Mymr"] == pytest.approx(18.76, rel=0.05)
