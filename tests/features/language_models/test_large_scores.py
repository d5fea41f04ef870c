"""Scores of more text than any machine has read: sums go on being exact."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.features.language_models import metrics as language_model
from pyharness.features.language_models.metrics import MOST_BITS, Scores
from pyharness.metrics.counting.state import CorpusState
from pyharness.statistics.jackknife import GROUPS

DOUBLINGS = 38  # of about a hundred documents: 2.6e13 of them, and 2^63 of anything fixed-point is far behind
DOCUMENTS = 96


def scored_state() -> CorpusState:
    """The same documents as a language model scores them: 11.3 bits and more for each of three tokens."""
    state = language_model.empty()
    for index in range(DOCUMENTS):
        bits = np.array([11.3, 12.9, 13.7 + index / 7])
        language_model.update(state, index % GROUPS, Scores("ab cde", bits / 2, bits, 0, np.array([0, 4, 1])))
    return state


def doubled(state: CorpusState) -> CorpusState:
    for _ in range(DOUBLINGS):
        other = CorpusState(state.facts, state.histogram.copy(), dict(state.counters))
        state.merge(other)
    return state


def test_the_same_text_over_and_over_has_the_same_numbers() -> None:
    once, often = (language_model.measure(state) for state in (scored_state(), doubled(scored_state())))
    assert sum(one.value is not None for one in once) >= 5
    for one, other in zip(once, often, strict=True):
        assert (one.value is None) == (other.value is None), one.metric
        if one.value is not None:
            assert other.value == pytest.approx(one.value, rel=1e-12), one.metric
        # 96 documents are enough for an interval.
        assert other.replicates == pytest.approx(one.replicates, rel=1e-12), one.metric


def test_one_document_of_the_largest_losses() -> None:
    state = language_model.empty()
    bits = np.full(1 << 20, float(MOST_BITS))
    language_model.update(state, 0, Scores("a" * (1 << 20), bits, bits, 0, None))
    values = {one.metric: one.value for one in language_model.measure(state) if one.part is None}
    assert values == {"next_token_entropy": MOST_BITS, "next_token_nll": MOST_BITS, "bits_per_byte": MOST_BITS}
