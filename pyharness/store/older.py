"""Numbers that older records keep among the details of their cases, as the measurements they are today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.types import Measurement

# By benchmark: the key of the details, or of a mapping among them, and the metric. Until November 2026.
_LIFTED: Mapping[str, Sequence[tuple[tuple[str, ...], str]]] = {
    "integrity": (
        (("documents",), "checked_documents"),
        (("identical_ids", "documents"), "identical_documents"),
        (("identical_ids", "left_out"), "mapped_documents"),
    ),
    "fairness": ((("rows",), "aligned_rows"),),
}
_PARTS = {"aligned_rows": "reference"}  # metric -> key of the details that says what it is about
ADDED_DETAILS = frozenset({"histograms"})  # that older records lack
LIFTED = frozenset(metric for places in _LIFTED.values() for _, metric in places)


def lifted(benchmark: str, measurements: Sequence[Measurement], details: Mapping[str, Any]) -> Iterator[Measurement]:
    """Measurements of a case that stand among its details alone."""
    measured = {one.metric for one in measurements}
    for keys, metric in _LIFTED.get(benchmark, ()):
        value: Any = details
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if metric not in measured and isinstance(value, int) and not isinstance(value, bool):
            part = details.get(_PARTS.get(metric, ""))
            yield Measurement(metric, value, part=part if isinstance(part, str) else None)
