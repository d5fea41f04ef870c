"""Metrics: one module per family. Most metrics are pure functions of an integer state.

``METRICS = (CorpusMetric(...),)`` of a module declares numbers of one pass over a corpus. All share the pass, the
groups and the intervals (``metrics.counting``, ``statistics.jackknife``). A metric that needs its own count adds it
with ``COUNTERS = (Counter(...),)``. ``REPORTED`` declares the metrics that a benchmark computes itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import chain

from pyharness.metrics.counting.state import CorpusMetric, Counter
from pyharness.plugins.registry import discover
from pyharness.types import Metric


def corpus_metrics() -> Mapping[str, CorpusMetric]:
    """Return metrics of one pass over a corpus, by name."""
    metrics = discover(sys.modules[__name__], "METRICS")
    return {name: metric for name, metric in metrics.items() if isinstance(metric, CorpusMetric)}


def counters() -> Mapping[str, Counter]:
    """Return the integer counts per text from which metrics are computed, by name."""
    counters: Mapping[str, Counter] = discover(sys.modules[__name__], "COUNTERS")
    return counters


def all_metrics() -> Mapping[str, Metric]:
    """Return every metric that pyharness can report, by name."""
    return _AllMetrics()


class _AllMetrics(Mapping[str, Metric]):
    """Metrics of a corpus pass, then those of benchmarks; a lookup loads no more than it needs."""

    def __init__(self) -> None:
        self._of_passes: Mapping[str, CorpusMetric | Metric] = discover(sys.modules[__name__], "METRICS")
        self._reported: Mapping[str, Metric] = discover(sys.modules[__name__], "REPORTED")

    def __getitem__(self, name: str) -> Metric:
        metric = self._of_passes[name] if name in self._of_passes else self._reported[name]
        return metric.about if isinstance(metric, CorpusMetric) else metric

    def __iter__(self) -> Iterator[str]:
        return chain(self._of_passes, self._reported)

    def __len__(self) -> int:
        return len(self._of_passes) + len(self._reported)
