"""Claims on patches and sentences are decided by a record, and what it lacks decides nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from claims import units
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Case, CaseResult, Measurement


def result(benchmark: str, row: str, corpus: str, metric: str, value: float, part: str | None = None) -> CaseResult:
    own = np.random.default_rng(list(f"{row} {corpus}".encode())).standard_normal(GROUPS)
    replicates = tuple((value * (1 + 0.001 * own)).tolist())
    one = Measurement(metric, value, replicates=(value,) * GROUPS if value == 1 else replicates, part=part)
    return CaseResult(Case(benchmark, row, corpus, {}), "ok", measurements=(one,))


ROWS = {
    "gpt2": "file:gpt2.json", "o200k_base": "tiktoken:o200k_base", "entropy-6": "patches:entropy?target=6",
    "entropy-8": "patches:entropy?target=8", "space": "patches:space", "paper": "patches:space?reading=paper",
    "character": "units:character", "units:sentence": "units:sentence",
}  # fmt: skip


def record_of(results: dict[str, list[CaseResult]]) -> Any:
    return SimpleNamespace(of=results.__getitem__, data={"tokenizers": {row: {"spec": ROWS[row]} for row in ROWS}})


def test_claims_on_units_are_decided_by_a_record() -> None:
    results = {
        "segmentation": [
            result("segmentation", "gpt2", "books", "prefix_stability", 0.6),
            result("segmentation", "o200k_base", "books", "prefix_stability", 1),
            result("segmentation", "entropy-6", "books", "prefix_stability", 1),
            result("segmentation", "entropy-8", "books", "prefix_stability", 0.9),
            result("segmentation", "space", "th", "bytes_per_unit", 3.05),
            result("segmentation", "character", "th", "bytes_per_unit", 3.0),
            result("segmentation", "space", "ar", "bytes_per_unit", 3.6),
            result("segmentation", "paper", "ar", "bytes_per_unit", 1.8),
            result("segmentation", "character", "ar", "bytes_per_unit", 1.8),
            result("segmentation", "space", "books", "bytes_per_unit", 6),
            result("segmentation", "character", "books", "bytes_per_unit", 1),
        ],
        "fairness": [result("fairness", "units:sentence", "flores200", "parity", 1.3, part="tha_Thai")],
    }
    found = {said.split(":")[0]: rows for said, rows in units.claims(record_of(results))}
    merged, entropy, space, sentences = found.values()
    assert [row.verdict.split(",")[0] for row in merged] == ["confirmed", "not testable here", "refuted"]
    assert merged[1].verdict.endswith("the record has no figure of cl100k_base")
    assert [(row.what, row.verdict) for row in entropy] == [
        ("stable prefixes: entropy-6", "confirmed"), ("stable prefixes: entropy-8", "refuted")
    ]  # fmt: skip
    assert [(row.text, row.verdict) for row in space] == [("ar", "refuted"), ("th", "confirmed")]
    assert [(row.text, row.verdict) for row in sentences] == [("tha_Thai", "refuted")]
    assert units.is_incremental(Measurement("x", 0.9999)) == "refuted"
    results["fairness"].clear()
    report = units.report(record_of(results))
    assert "verdict: not testable here, because the record has no figure of units:sentence" in report
    assert "verdict: refuted (1 of 2 rows; 1 confirm it)" in report
