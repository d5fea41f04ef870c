"""Records made by hand whose rows are ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyharness import store

METRIC = "bytes_per_token"
GROUPS = {"tokens": [250 // 32] * 32}
ABOUT = {"unit": "byte/token", "direction": "higher", "deterministic": True}


def case(row: str, text: str, value: float, replicates: Sequence[float], digest: str = "1") -> dict[str, Any]:
    tally = {"documents": 64, "bytes": 1000, "digest": digest * 32}
    measured = {"metric": METRIC, "value": value, "replicates": list(replicates)}
    return {"benchmark": "compression", "tokenizer": row, "corpus": text, "parameters": {}, "status": "ok",
            "reason": None, "details": {"tally": tally, "groups": GROUPS}, "measurements": [measured]}  # fmt: skip


def record(*results: Mapping[str, Any], direction: str = "higher") -> store.Record:
    rows, texts = (tuple(dict.fromkeys(one[key] for one in results)) for key in ("tokenizer", "corpus"))
    data = {
        "kind": store.KIND, "schema": 2, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {row: {} for row in rows},
        "corpora": {text: {} for text in texts},
        "metrics": {METRIC: ABOUT | {"direction": direction}}, "results": list(results),
    }  # fmt: skip
    return store.Record.from_json(data, "record")


def column(means: Mapping[str, float], spread: float, seed: int, text: str = "text") -> list[dict[str, Any]]:
    """Rows that share the noise of their documents, and have some of their own, which goes with their mean."""
    shared = np.random.default_rng(seed).normal(0, 1, 32)
    # Not normal: of thousands of pairs, some would be carried by a few groups, and have no interval.
    own = {mean: np.random.default_rng([seed, round(1e6 * mean)]).uniform(-1.7, 1.7, 32) for mean in means.values()}
    return [case(row, text, mean, (mean + (shared + spread * own[mean]) / 100).tolist()) for row, mean in means.items()]
