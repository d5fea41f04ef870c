"""Numbers relative to the reference row: those of a case that take another case, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyharness.benchmarks import benchmarks
from pyharness.benchmarks.rounds import rounds_of
from pyharness.types import CaseResult


def add(results: Sequence[CaseResult], reference: str | None) -> list[CaseResult]:
    """Return the results with what their benchmarks say relative to the same case of the reference row."""
    by_key = {result.case.key: result for result in results}
    return [_with_relative(result, by_key, reference) for result in results]


def _with_relative(result: CaseResult, by_key: dict[str, CaseResult], reference: str | None) -> CaseResult:
    benchmark = benchmarks().get(result.case.benchmark)
    if benchmark is None or benchmark.relative is None or result.status != "ok":
        return result
    if rounds_of(result.case):
        reference = result.case.parameters.get("reference", reference)
    if reference is None:
        return result
    home = by_key.get(replace(result.case, tokenizer=reference).key)
    measured = {(one.metric, one.part) for one in result.measurements}
    added = [one for one in benchmark.relative(result, home, reference) if (one.metric, one.part) not in measured]
    return replace(result, measurements=(*result.measurements, *added))
