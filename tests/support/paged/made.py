"""Made-up records: as many rows and texts as asked for, under any names."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from pyharness import store
from pyharness.running.run_record import _about_metrics

GROUPS = 32
COMPRESSION = (
    "bytes_per_token",
    "tokens_per_word",
    "vocabulary_used",
    "normalized_sequence_length",
    "mean_token_bytes",
)
SPEEDS = ("cold", "steady", "replay")
TALLY = {"documents": 407, "bytes": 284_227, "digest": "43dba563c0b4d9d809a1879e5744cc30"}


def names(stem: str, count: int) -> list[str]:
    return [f"{stem}-{number:02d}" for number in range(count)]


def record(rows: Sequence[str], texts: Sequence[str], *, timed: bool = True, **changes: Any) -> store.Record:
    """A record of a run in which each row was measured on each text."""
    source = random.Random(1)
    results = [_compression(row, text, source) for text in texts for row in rows]
    results += [_throughput(row, text, source) for text in texts for row in rows if timed]
    return of_results(results, rows, texts, **changes)


def of_results(
    results: Sequence[Mapping[str, Any]], rows: Sequence[str], texts: Sequence[str], **changes: Any
) -> store.Record:
    """A record of these results."""
    about = {"spec": "x", "tally": TALLY}
    data = {
        "kind": store.KIND, "schema": store.SCHEMA, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.5,
        "complete": True, "suite": {"name": "quick", "reference": rows[0] if rows else None},
        "environment": {"pyharness": "0.1.0", "libraries": {"numpy": "2.0"}},
        "tokenizers": {row: {"spec": f"file:{row}", "round_trip": "exact", "vocab_size": 1000} for row in rows},
        "corpora": dict.fromkeys(texts, about), "metrics": {}, "results": list(results), **changes,
    }  # fmt: skip
    data["metrics"] = _about_metrics(store.Record.from_json(data, "made").results)
    return store.Record.from_json(data, "made")


def case(benchmark: str, row: str, text: str | None, measurements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A result as a record holds it."""
    return {
        "key": f"{benchmark} | {row} | {text}", "benchmark": benchmark, "tokenizer": row, "corpus": text,
        "parameters": {}, "status": "ok", "reason": None, "measurements": list(measurements),
        "details": {} if text is None else {"tally": TALLY, "groups": {"tokens": [2000] * GROUPS}},
    }  # fmt: skip


def _compression(row: str, text: str, source: random.Random) -> dict[str, Any]:
    measured = []
    for metric in COMPRESSION:
        value = source.uniform(1, 5)
        replicates = [value * source.uniform(0.99, 1.01) for _ in range(GROUPS)]
        measured.append({"metric": metric, "value": value, "replicates": replicates})
    return case("compression", row, text, measured)


def _throughput(row: str, text: str, source: random.Random) -> dict[str, Any]:
    measured = []
    for part in SPEEDS:
        samples = [source.uniform(1e6, 2e7) for _ in range(7)]
        value = sorted(samples)[3]
        measured.append({"metric": "encode_bytes_per_second", "part": part, "value": value, "samples": samples})
    return case("throughput", row, text, measured)
