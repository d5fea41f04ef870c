"""What grows with the text: intervals of one size, curves over nested parts of it, and verdicts that look at both."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyharness import report, store
from pyharness.metrics import all_metrics, corpus_metrics
from pyharness.metrics.counting.state import MOST_IDS, CorpusState, Facts, measure
from pyharness.report import comparison
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Unsupported

GROWING = {
    "shannon_entropy", "redundancy", "renyi_entropy_0", "renyi_efficiency_observed", "vocabulary_used",
    "percentile_frequency", "bigram_entropy", "mutual_information", "unused_added", "largest_unit", "cuts_per_word",
}  # fmt: skip
OF_FEATURES = {
    "languages_per_token", "mean_rank", "renyi_efficiency_alpha", "renyi_entropy_alpha", "successor_entropy",
    "vocabulary_use_variation",
}  # fmt: skip
WITHOUT_CURVE = {"unused_added", "largest_unit", "cuts_per_word"}  # of one text only
ON_A_SAMPLE = {"bigram_entropy", "mutual_information"}
V = 4000


def facts() -> Facts:
    return Facts(V, np.ones(V, np.bool_), None, lossy=False)


def state_of(documents: Sequence[np.typing.NDArray[np.uint32]], generator: random.Random) -> CorpusState:
    """Documents of as many bytes as tokens, each hashed to a group."""
    state = CorpusState.empty(facts())
    groups = np.array([generator.randrange(GROUPS) for _ in documents], np.uint8)
    for document, group in zip(documents, groups, strict=True):
        state.histogram[group] += np.bincount(document, minlength=V).astype(np.uint64)
    for name, values in {
        "documents": np.ones(len(documents), np.int64),
        "pieces": np.ones(len(documents), np.int64),
        "tokens": np.array([len(one) for one in documents], np.int64),
        "bytes": np.array([len(one) for one in documents], np.int64),
    }.items():
        sums = np.zeros(GROUPS, np.int64)
        np.add.at(sums, groups, values)
        state.add(name, sums)
    return state


def zipf(generator: np.random.Generator, tokens: int) -> np.typing.NDArray[np.uint32]:
    return np.minimum(generator.zipf(1.3, tokens) - 1, V - 1).astype(np.uint32)


def test_metrics_say_whether_they_grow() -> None:
    assert {name for name, metric in all_metrics().items() if metric.grows_with_text} == GROWING | OF_FEATURES


def test_what_grows_in_proportion_to_the_text_has_no_width_at_one_size() -> None:
    sizes = [10 * (group + 1) ** 2 for group in range(GROUPS)]
    value = 0.25 * sum(sizes)
    replicates = jackknife.at_one_size(value, [value - 0.25 * size for size in sizes], sizes)
    assert replicates == pytest.approx([value] * GROUPS, rel=1e-12)


def test_correction_leaves_alone_what_does_not_grow_and_what_is_missing() -> None:
    assert jackknife.at_one_size(5.0, [5.5, 4.5, None], [10, 900, 0]) == (5.5, 4.5, None)
    assert jackknife.at_one_size(5.0, [4.0, None], [0, 0]) == (4.0, None)


def test_intervals_of_what_grows_are_as_wide_as_texts_of_one_size_differ() -> None:
    # Documents of 20 to 2,000 tokens from one distribution, until there are 60,000 tokens.
    generator, order = np.random.default_rng(5), random.Random(5)
    metric = corpus_metrics()["vocabulary_used"]
    values, widths, uncorrected = [], [], []
    for _ in range(60):
        lengths = np.array([int(20 * 100 ** generator.random()) for _ in range(400)])
        documents = [zipf(generator, length) for length in lengths[np.cumsum(lengths) < 60_000]]
        state = state_of(documents, order)
        (measurement,) = measure(state, [metric])
        low, high = jackknife.interval(measurement.value, measurement.replicates) or (0.0, 0.0)
        values.append(float(measurement.value or 0))
        widths.append((high - low) / 2)
        total = state.total()
        plain = [float(metric.compute(state.without(group, total))) for group in range(GROUPS)]
        low, high = jackknife.interval(measurement.value, plain) or (0.0, 0.0)
        uncorrected.append((high - low) / 2)
    needed = 1.96 * float(np.std(values))
    assert np.mean(uncorrected) > 3 * needed
    assert 0.9 * needed < np.mean(widths) < 1.5 * needed


def test_a_curve_is_the_value_of_nested_parts() -> None:
    generator = np.random.default_rng(3)
    state = state_of([zipf(generator, 50) for _ in range(200)], random.Random(3))
    metrics = [corpus_metrics()[name] for name in (*sorted(GROWING - ON_A_SAMPLE - WITHOUT_CURVE), "renyi_efficiency")]
    *growing, fixed = measure(state, metrics)
    assert fixed.curve == ()
    for metric, found in zip(metrics, growing, strict=False):
        expected = []
        for count in (4, 8, 16, 32):  # by adding up the groups, one after the other
            part = CorpusState.empty(facts())
            for group in range(count):
                part.histogram[0] += state.histogram[group]
                for name, sums in state.counters.items():
                    part.add(name, np.array([sums[group]] + [0] * (GROUPS - 1)))
            expected.append(metric.compute(part.total()))
        assert found.curve == tuple(expected)
        assert found.curve[-1] == found.value


def test_too_few_documents_have_no_curve() -> None:
    state = state_of([zipf(np.random.default_rng(1), 500)] * 40, random.Random(1))
    (measurement,) = measure(state, [corpus_metrics()["vocabulary_used"]])
    assert measurement.curve == measurement.replicates == ()
    assert measurement.no_interval is not None


def test_a_curve_without_documents_is_null() -> None:
    documents = [2] * GROUPS
    documents[:8] = [0] * 8
    documents[8] = 60
    measurement = jackknife.estimate(
        "vocabulary_used", documents, lambda groups: float(groups.sum()), sizes=[1] * GROUPS, grows=True
    )
    assert measurement.curve == (None, None, 16.0, 32.0)


# ---------------------------------------------------------------------------------------------- verdicts


def record(schema: int, curves: Sequence[Sequence[float | None]], grows: bool | None = True) -> store.Record:
    """Two rows whose difference is 1, by an interval that excludes 0."""
    metrics: dict[str, Any] = {
        "vocabulary_used": {"unit": "share", "direction": "higher", "summary": "", "deterministic": True}
    }
    if grows is not None:
        metrics["vocabulary_used"]["grows_with_text"] = grows
    results = [
        {
            "benchmark": "compression", "tokenizer": name, "corpus": "books", "parameters": {}, "status": "ok",
            "reason": None, "details": {"tally": {"documents": 99, "bytes": 9, "digest": "0" * 32}},
            "measurements": [
                {"metric": "vocabulary_used", "value": value, "replicates": [value] * GROUPS}
                | ({"curve": list(curve)} if curve else {})
            ],
        }
        for name, value, curve in zip("ab", (2.0, 3.0), curves, strict=True)
    ]  # fmt: skip
    results[1]["measurements"][0]["replicates"] = [3 + group % 2 / 100 for group in range(GROUPS)]  # type: ignore[index]
    data = {
        "kind": store.KIND, "schema": schema, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {"a": {}, "b": {}}, "metrics": metrics, "corpora": {},
        "results": results,
    }  # fmt: skip
    return store.Record.from_json(data, "record")


@pytest.mark.parametrize(
    ("b", "verdict"),
    [
        ((1.0, 1.5, 2.2, 3.0), "better"),
        ((0.4, 1.5, 2.2, 3.0), "depends on size"),
        ((1.0, 1.5, 1.6, 3.0), "depends on size"),
        ((1.0, 1.2, 2.2, 3.0), "depends on size"),  # no difference at all on a quarter of the text
        ((None, 1.5, 2.2, 3.0), "depends on size"),
    ],
)
def test_a_verdict_needs_one_sign_along_the_curve(b: Sequence[float | None], verdict: str) -> None:
    (difference,) = comparison.rows(record(2, ((0.5, 1.2, 1.7, 2.0), b)), "a", "b")
    assert difference.interval is not None
    assert difference.interval[0] > 0
    assert difference.verdict == verdict
    text = report.to_text(report.difference_sheets([difference]), 200)
    assert "of B - A" in text
    assert "vocabulary_used: " + ("-" if b[0] is None else f"{b[0] - 0.5:+.3g}") in text


def test_what_does_not_grow_needs_no_curve() -> None:
    (difference,) = comparison.rows(record(2, ((), ()), grows=False), "a", "b")
    assert difference.verdict == "better"
    assert "can change" not in report.to_text(report.difference_sheets([difference]), 200)


def test_older_records_have_no_verdict_on_what_grows() -> None:
    (difference,) = comparison.rows(record(1, ((), ()), grows=None), "a", "b")
    assert difference.verdict == "no curve"


def test_curves_are_kept_in_a_record() -> None:
    kept = {"metric": "vocabulary_used", "value": 1.0, "replicates": [1.0, None], "curve": [None, 0.5, 0.75, 1.0]}
    measurement = store.measurement_from_json(kept)
    assert measurement.curve == (None, 0.5, 0.75, 1.0)
    assert store.measurement_as_json(measurement) == kept


def test_more_ids_than_memory_holds_are_refused() -> None:
    many = Facts(MOST_IDS + 1, np.ones(MOST_IDS + 1, np.bool_), None, lossy=False)
    with pytest.raises(Unsupported, match=f"{MOST_IDS:,}"):
        CorpusState.empty(many)
