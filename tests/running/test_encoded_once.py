"""A result becomes JSON text once, in its worker: the journal and the record have its characters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing.measuring import run_here
from pyharness import store
from pyharness.benchmarks import Benchmark, Findings
from pyharness.plugins import registry
from pyharness.types import CaseResult

CASES = 1000
BENCHMARKS = (
    Benchmark(
        "numbered",
        "has as many cases as one likes",
        lambda work: Findings(details={"number": work.case.parameters["number"], "text": "é\udc80"}),
        corpus="none",
        metrics=(),
        parameters={"number": 0},
    ),
)


def keys_in(value: Any) -> Iterator[str]:
    """Keys of the results within JSON values, or of the one that a value is."""
    if isinstance(value, dict) and value.keys() >= {"key", "status", "measurements"}:
        yield value["key"]
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from keys_in(one)


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the result of each case has become JSON values or text, by key; filled from now on."""
    counts: Counter[str] = Counter()
    dumps, as_json = json.dumps, store.result_as_json

    def spy_on_text(value: Any, **options: Any) -> str:
        counts.update(keys_in(value))
        return dumps(value, **options)

    def spy_on_values(result: CaseResult) -> dict[str, Any]:
        counts.update([result.case.key])
        return as_json(result)

    monkeypatch.setattr(json, "dumps", spy_on_text)
    monkeypatch.setattr("pyharness.store.journal.result_as_json", spy_on_values)
    return counts


def test_each_result_is_converted_exactly_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conversions: Counter[str]
) -> None:
    monkeypatch.setenv("PYHARNESS_PLUGINS", __name__)
    monkeypatch.setattr("os.fsync", lambda file: None)  # a thousand of them take a minute
    registry.discover.cache_clear()
    path, chosen = tmp_path / "record.json", {"name": "numbered", "number": list(range(CASES))}
    record = run_here(path, tokenizers=["raw_bytes"], benchmarks=[chosen])
    registry.discover.cache_clear()
    assert len(record.results) == CASES
    assert conversions == {result.case.key: 1 for result in record.results}
    monkeypatch.undo()
    assert path.read_text("utf-8") == store.dump(record.data)
