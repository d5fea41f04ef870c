"""Sequence lengths relative to the reference tokenizer's: the one number of a case that takes another case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyharness.benchmarks import benchmarks
from pyharness.metrics import compression
from pyharness.types import CaseResult, Measurement

METRIC = "normalized_sequence_length"  # of benchmarks that declare it and keep tokens and documents by group


def add(results: Sequence[CaseResult], reference: str | None) -> list[CaseResult]:
    """Return the results with the length of each relative to the reference's on the same text."""
    known = {result.case.key: result for result in results}
    return [_with_length(result, known, reference) for result in results]


def _with_length(result: CaseResult, known: dict[str, CaseResult], reference: str | None) -> CaseResult:
    benchmark = benchmarks().get(result.case.benchmark)
    if benchmark is None or METRIC not in benchmark.metrics or result.status != "ok" or reference is None:
        return result
    home = known.get(replace(result.case, tokenizer=reference).key)
    return replace(result, measurements=(*result.measurements, _length(result, home, reference)))


def _length(result: CaseResult, home: CaseResult | None, reference: str) -> Measurement:
    if home is None or home.status != "ok":
        return Measurement(METRIC, None, reason=f"the reference {reference!r} was not measured", part=reference)
    mine, theirs = (one.details["groups"]["tokens"] for one in (result, home))
    return compression.normalized_sequence_length(mine, theirs, result.details["groups"]["documents"], reference)
