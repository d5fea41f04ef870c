"""Delete-a-group jackknife: one way to an interval for ratios and entropies alike.

Documents fall, whole, into G = 32 groups by a hash of their content; a metric is computed once from all groups and
once without each. The replicates are kept, so the difference of two tokenizers on the same text gets a *paired*
interval, far narrower than two separate ones. Pieces of a document that was cut share its group and count once: hashed
one by one they pass for independent, and the interval is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

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


def too_few(documents: Sequence[int]) -> str | None:
    """Say why there is no interval, if so; ``documents``: the uncut documents of every group."""
    total, used = sum(documents), sum(count > 0 for count in documents)
    if total >= MIN_DOCUMENTS and used >= MIN_GROUPS:
        return None
    read = f"{total:,} document" + "s" * (total != 1)
    if total < MIN_DOCUMENTS:
        return f"{read}, those that were cut counted once; an interval needs {MIN_DOCUMENTS}"
    return f"{read} in {used} of {GROUPS} groups (alike ones share a group); an interval needs {MIN_GROUPS}"


def estimate(
    metric: str, documents: Sequence[int], without: Callable[[int | None], float | int], part: str | None = None
) -> Measurement:
    """A metric with the replicates of its interval, or with the reason why it has none.

    ``documents``: uncut documents of every group. ``without(g)`` is the metric of all groups but ``g``,
    ``without(None)`` that of all; it raises ``Undefined`` where there is no number.
    """
    try:
        value = without(None)
    except Undefined as reason:
        return Measurement(metric, None, reason=str(reason), part=part)
    if (lack := too_few(documents)) is not None:
        return Measurement(metric, value, part=part, no_interval=lack)
    replicates = [_defined(without, group) if count else None for group, count in enumerate(documents)]
    return Measurement(metric, value, part=part, replicates=tuple(replicates))


def _defined(without: Callable[[int | None], float | int], group: int) -> float | None:
    try:
        return without(group)
    except Undefined:
        return None


def measure(state: CorpusState, metrics: Iterable[CorpusMetric]) -> list[Measurement]:
    """Every metric of a finished pass, with the replicates of its interval."""
    total = state.total()
    if not total.counters.get("pieces", total.counters.get("documents")):
        return [Measurement(metric.name, None, reason="the corpus has no documents") for metric in metrics]

    @cache
    def counts(group: int | None) -> Counts:
        return total if group is None else state.without(group, total)

    documents = state.counters["documents"].tolist()
    return [
        estimate(metric.name, documents, lambda group, metric=metric: metric.compute(counts(group)))  # type: ignore[misc]
        for metric in metrics
    ]


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
