"""States of more text than any machine has read: sums go on being exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyharness.metrics import corpus_metrics, counters
from pyharness.metrics.counting.state import CorpusState, Facts, measure
from pyharness.metrics.fairness import FairnessState
from pyharness.metrics.fairness import measure as measure_fairness
from pyharness.statistics.jackknife import GROUPS
from pyharness.tokenizers import load
from pyharness.types import Measurement, Tokens

DOUBLINGS = 38  # of about a hundred documents: 2.6e13 of them, and 2^63 of anything fixed-point is far behind
DOCUMENTS = 96


def corpus_state() -> CorpusState:
    """Documents of 2 to 9 bytes in 3 tokens each: bytes per token are no whole numbers."""
    state = CorpusState.empty(Facts.of(load("raw_bytes")))
    texts = ["ab cdefgh"[: 2 + index % 8] for index in range(DOCUMENTS)]
    tokens = Tokens.from_lists([[97, 98 + index % 5, 99] for index in range(DOCUMENTS)])
    state.update(texts, tokens, np.arange(DOCUMENTS, dtype=np.uint8) % GROUPS, counters().values())
    return state


def doubled(state: CorpusState) -> CorpusState:
    for _ in range(DOUBLINGS):
        other = CorpusState(state.facts, state.histogram.copy(), dict(state.counters))
        state.merge(other)
    return state


def of_corpus(state: CorpusState) -> list[Measurement]:
    return measure(state, corpus_metrics().values())


def test_the_same_text_over_and_over_has_the_same_numbers() -> None:
    once, often = of_corpus(corpus_state()), of_corpus(doubled(corpus_state()))
    assert sum(one.value is not None for one in once) >= 5
    for one, other in zip(once, often, strict=True):
        assert (one.value is None) == (other.value is None), one.metric
        if one.value is not None:
            assert other.value == pytest.approx(one.value, rel=1e-12), one.metric
        # 96 documents are enough for an interval.
        assert other.replicates == pytest.approx(one.replicates, rel=1e-12), one.metric


def test_sums_are_exact() -> None:
    once, often = corpus_state().total(), doubled(corpus_state()).total()
    assert often.counters == {name: count << DOUBLINGS for name, count in once.counters.items()}
    assert often["ratio_low"] > 1 << 64
    assert isinstance(often["ratio_low"], int)
    without = doubled(corpus_state()).without(3, often)
    assert without.counters == {
        name: count << DOUBLINGS for name, count in corpus_state().without(3, once).counters.items()
    }
    assert np.array_equal(often.histogram, once.histogram << np.uint64(DOUBLINGS))


def test_costs_of_languages_are_exact_up_to_an_exabyte() -> None:
    state = FairnessState.empty(("a", "b"), "a")
    for row in range(64):
        state.update(row % GROUPS, np.array([1 << 52, 3 << 51]), np.array([1 << 53, 1 << 53]))
    values = {(one.metric, one.part): one.value for one in measure_fairness(state)}
    assert values["parity", "b"] == 1.5
    assert values["premium_gini", None] == pytest.approx(0.1)
    assert int(state.bytes.sum()) == 64 << 54
    assert math.isfinite(float(values["bytes_premium", "b"] or math.nan))
