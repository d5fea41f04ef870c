"""Delete-a-group jackknife: one way to an interval for ratios and entropies alike.

Documents fall into G = 32 groups by a hash of their content; a metric is computed once from all groups and once without
each. The replicates are kept, so the difference of two tokenizers on the same text gets a *paired* interval, far
narrower than two separate ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyharness.metrics.state import (
    GROUPS,
    MIN_DOCUMENTS,
    MIN_GROUPS,
    CorpusMetric,
    CorpusState,
    Counts,
    Undefined,
)
from pyharness.types import Measurement

# 97.5 % quantiles of Student's t for 15..31 degrees of freedom (checked against scipy.stats.t in the tests).
T_QUANTILES = (2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658,
               2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272, 2.039513)  # fmt: skip


def measure(state: CorpusState, metrics: Iterable[CorpusMetric]) -> list[Measurement]:
    """Every metric of a finished pass, with the replicates of its interval."""
    total = state.total()
    if not total.counters.get("documents"):
        return [Measurement(metric.name, None, reason="the corpus has no documents") for metric in metrics]
    groups = state.used_groups()
    enough = len(groups) >= MIN_GROUPS and total["documents"] >= MIN_DOCUMENTS
    partial = {group: state.without(group, total) for group in groups} if enough else {}
    found = []
    for metric in metrics:
        try:
            value = metric.compute(total)
        except Undefined as reason:
            found.append(Measurement(metric.name, None, reason=str(reason)))
            continue
        replicates = [_replicate(metric, partial, group) for group in range(GROUPS)] if enough else []
        found.append(Measurement(metric.name, value, replicates=tuple(replicates)))
    return found


def _replicate(metric: CorpusMetric, partial: dict[int, Counts], group: int) -> float | None:
    if group not in partial:
        return None
    try:
        return metric.compute(partial[group])
    except Undefined:
        return None


def interval(value: float | None, replicates: Sequence[float | None]) -> tuple[float, float] | None:
    """95 % interval around ``value``; None when fewer than 16 groups hold documents or the state was too small."""
    known = [replicate for replicate in replicates if replicate is not None]
    if value is None or len(known) < MIN_GROUPS:
        return None
    mean = math.fsum(known) / len(known)
    variance = (len(known) - 1) / len(known) * math.fsum((replicate - mean) ** 2 for replicate in known)
    half = T_QUANTILES[len(known) - MIN_GROUPS] * math.sqrt(variance)
    return value - half, value + half


def paired_interval(a: Measurement, b: Measurement) -> tuple[float, float] | None:
    """95 % interval of ``b - a`` measured on the same documents (the caller checks the digests)."""
    if a.value is None or b.value is None:
        return None
    pairs = zip(a.replicates, b.replicates, strict=False)
    differences = [y - x if x is not None and y is not None else None for x, y in pairs]
    return interval(b.value - a.value, differences)
