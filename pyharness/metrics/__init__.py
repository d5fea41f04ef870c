"""Metrics: one module per family, each a pure function of an integer state.

A module ends in ``METRICS = (CorpusMetric(...),)`` for numbers that one pass over a corpus gives; the pass, the groups
and the intervals are shared (``metrics.counting``, ``statistics.jackknife``). A metric that needs a count of its own
adds it with ``COUNTERS = (Counter(...),)``. Metrics that a benchmark computes itself are declared in ``REPORTED``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain

from pyharness.metrics.counting.state import CorpusMetric, Counter
from pyharness.plugins.registry import discover
from pyharness.types import Metric


def corpus_metrics() -> Mapping[str, CorpusMetric]:
    """Return metrics of one pass over a corpus, by name."""
    metrics = discover(sys.modules[__name__], "METRICS")
    return {name: metric for name, metric in metrics.items() if isinstance(metric, CorpusMetric)}


def counters() -> Mapping[str, Counter]:
    """Per-document integer counts that the metrics are made of, by name."""
    counters: Mapping[str, Counter] = discover(sys.modules[__name__], "COUNTERS")
    return counters


def all_metrics() -> Mapping[str, Metric]:
    """Every number that pyharness can report, by name."""
    metrics = discover(sys.modules[__name__], "METRICS")
    listed = chain(metrics.values(), discover(sys.modules[__name__], "REPORTED").values())
    return {metric.name: metric.about if isinstance(metric, CorpusMetric) else metric for metric in listed}
