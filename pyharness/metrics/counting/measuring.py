"""Metrics of a finished pass over a corpus: each from all groups of documents, and from all but one."""

from __future__ import annotations

from collections.abc import Iterable

from pyharness.metrics.counting.state import CorpusMetric, CorpusState, Counts
from pyharness.statistics import jackknife
from pyharness.types import Measurement


def measure(state: CorpusState, metrics: Iterable[CorpusMetric]) -> list[Measurement]:
    """Every metric of a finished pass, with the replicates of its interval."""
    total = state.total()
    if not total.counters.get("pieces", total.counters.get("documents")):
        return [Measurement(metric.name, None, reason="the corpus has no documents") for metric in metrics]
    counted: dict[bytes, Counts] = {}

    def counts(groups: jackknife.Groups) -> Counts:
        key = groups.tobytes()
        if key not in counted:
            counted[key] = state.of(groups, total)
        return counted[key]

    documents, sizes = state.counters["documents"].tolist(), state.counters.get("bytes")  # extracts are of one size

    def measured(metric: CorpusMetric) -> Measurement:
        def of(groups: jackknife.Groups) -> float | int:
            return metric.compute(counts(groups))

        if metric.no_interval is not None:
            return jackknife.without_interval(metric.name, of, metric.no_interval)
        weights = None if metric.of_documents or sizes is None else sizes.tolist()
        return jackknife.estimate(metric.name, documents, of, sizes=weights, grows=metric.about.grows_with_text)

    return [measured(metric) for metric in metrics]
