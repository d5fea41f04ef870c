"""Claims on patches and sentences are decided by a record, and what it lacks decides nothing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from claims import units
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Case, CaseResult, Measurement


def result(benchmark: str, row: str, corpus: str, metric: str, value: float, part: str | None = None) -> CaseResult:
    replicates = tuple((value * (1 + 0.001 * np.random.default_rng(2).standard_normal(GROUPS))).tolist())
    one = Measurement(metric, value, replicates=(value,) * GROUPS if value == 1 else replicates, part=part)
    return CaseResult(Case(benchmark, row, corpus, {}), "ok", measurements=(one,))


def test_claims_on_units_are_decided_by_a_record() -> None:
    results = {
        "segmentation": [
            result("segmentation", "gpt2", "books", "prefix_stability", 0.6),
            result("segmentation", "o200k_base", "books", "prefix_stability", 1),
            result("segmentation", "patches:entropy?target=6", "books", "prefix_stability", 1),
            result("segmentation", "patches:space", "th", "bytes_per_unit", 3.05),
            result("segmentation", "units:character", "th", "bytes_per_unit", 3.0),
            result("segmentation", "patches:space", "ar", "bytes_per_unit", 3.6),
            result("segmentation", "units:character", "ar", "bytes_per_unit", 1.8),
            result("segmentation", "patches:space", "books", "bytes_per_unit", 6),
            result("segmentation", "units:character", "books", "bytes_per_unit", 1),
        ],
        "fairness": [result("fairness", "units:sentence", "flores200", "parity", 1.3, part="tha_Thai")],
    }
    found = {said.split(":")[0]: rows for said, rows in units.claims(SimpleNamespace(of=results.__getitem__))}  # type: ignore[arg-type]
    merged, entropy, space, sentences = found.values()
    assert [row.verdict.split(",")[0] for row in merged] == ["confirmed", "not testable here", "refuted"]
    assert merged[1].verdict.endswith("the record has no figure of cl100k_base")
    assert [row.verdict for row in entropy] == ["confirmed"]
    assert [(row.text, row.verdict) for row in space] == [("ar", "refuted"), ("th", "confirmed")]
    assert [(row.text, row.verdict) for row in sentences] == [("tha_Thai", "refuted")]
    assert units.is_incremental(Measurement("x", 0.9999)) == "refuted"
    results["fairness"].clear()
    report = units.report(SimpleNamespace(of=results.__getitem__))  # type: ignore[arg-type]
    assert "verdict: not testable here, because the record has no figure of units:sentence" in report
    assert "verdict: refuted (1 of 2 rows; 1 confirm it)" in report
