"""Counts of an adaptation: uses, tokens that do not occur, and intervals of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.features.adaptation.metrics import AdaptationCounts, Unreachable
from pyharness.metrics.counting.state import CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS


def state_of(histogram: np.typing.NDArray[np.uint64]) -> CorpusState:
    ids = histogram.shape[1]
    state = CorpusState(Facts(ids, np.ones(ids, np.bool_), None, lossy=False), histogram)
    for name, values in {
        "documents": np.full(GROUPS, 3),
        "bytes": np.arange(GROUPS) + 100,
        "tokens": histogram.sum(axis=1).astype(np.int64),
    }.items():
        state.add(name, values.astype(np.int64))
    return state


def test_what_is_counted() -> None:
    generator = np.random.default_rng(11)
    mine = state_of(generator.integers(1, 9, (GROUPS, 6)).astype(np.uint64))
    mine.histogram[:, 4] = mine.histogram[:, 3] = 0
    mine.histogram[7, 4] = 1
    theirs = state_of(generator.integers(3, 20, (GROUPS, 4)).astype(np.uint64))
    other, added = theirs.counters["tokens"], np.array([2, 3, 4], np.uint32)
    counts = AdaptationCounts.of(mine, {"base": other}, added, 5, Unreachable(None, 2))
    found = {one.metric: one for one in counts.measurements()}
    assert (found["added_tokens"].value, found["removed_tokens"].value) == (3, 5)
    assert found["unused_added"].value == pytest.approx(1 / 3)  # 3; the token 4 is used once
    assert (found["newly_unreachable_graph"].value, found["newly_unreachable_model"].value) == (None, 2)
    for group, (gain, uses) in enumerate(
        zip(found["compression_gain"].replicates, found["added_token_uses"].replicates, strict=True)
    ):
        rest = np.arange(GROUPS) != group
        tokens = [int(state.counters["tokens"][rest].sum()) for state in (theirs, mine)]
        assert gain == pytest.approx(tokens[0] / tokens[1] - 1, rel=1e-8)
        used, size = int(mine.histogram[rest][:, 2:5].sum()), int((np.arange(GROUPS) + 100)[rest].sum())
        assert uses == pytest.approx(used / 3 / size * 1e6)
    assert AdaptationCounts.of_arrays(counts.arrays()).measurements() == counts.measurements()


def test_a_text_without_tokens_has_no_gain() -> None:
    empty = state_of(np.zeros((GROUPS, 3), np.uint64))
    tokens = empty.counters["tokens"]
    counts = AdaptationCounts.of(empty, {"base": tokens}, np.zeros(0, np.uint32), 0, Unreachable(0, 0))
    found = {one.metric: one for one in counts.measurements()}
    for metric, why in (("compression_gain", "produced"), ("unused_added", "added")):
        assert (found[metric].value, why in str(found[metric].reason)) == (None, True)
