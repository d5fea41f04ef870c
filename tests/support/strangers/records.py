"""A record whose rows, corpora, reasons and tokens have names of strangers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness import store
from ranked.records import METRIC, column, record

ROWS = 4  # of a corpus: the record is small, and every name is a row or a corpus of it


def named(names: Sequence[str], changed: float = 0.0) -> store.Record:
    """A record of all names: as rows on corpora, of rows that failed and why, and of tokens that are dead.

    Args:
        names: at least one; each is said in every role.
        changed: what each second row has more of the metric.
    """
    results: list[dict[str, Any]] = []
    for start in range(0, len(names), ROWS):
        some = names[start : start + ROWS]
        means = {name: 4.0 - place + changed * (place % 2) for place, name in enumerate(some)}
        results += column(means, 1, start, names[-1 - start] or "of no name")
    read = record(*results)
    data = {
        **read.data,
        "tokenizers": {name: {} for name in names},
        "corpora": {name or "of no name": {} for name in names},
    }
    for place, name in enumerate(names):
        lost = {
            "benchmark": "integrity",
            "tokenizer": name,
            "corpus": names[-1 - place] or "of no name",
            "parameters": {},
            "details": {},
        }
        status = "failed" if place % 2 else "skipped"
        results.append(lost | {"status": status, "reason": f"{name} is why", "measurements": []})
        dead = {"id": place, "token": name, "verdict": name, "instead": [1], "argument": name, "because": name}
        results.append(lost | {"benchmark": "reachability", "corpus": None, "status": "ok", "reason": None,
                               "measurements": [], "details": {"pipeline": [dead]}})  # fmt: skip
    data["metrics"] = {METRIC: data["metrics"][METRIC]}
    return store.Record.from_json({**data, "results": results}, "record")
