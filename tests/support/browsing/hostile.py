"""A record whose rows, texts, reasons and tokens have the names of ``strings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.report.tables import FIRST_LISTED

METRICS = ("bytes_per_token", "tokens_per_word")


def of_rows(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a record of a row, a reason and a dead token of each name, on one text; made from one of few rows."""
    (one, *_) = _cases(data, "compression")
    row, text = data["tokenizers"][one["tokenizer"]], data["corpora"][one["corpus"]]
    reasons = [
        _not_measured(one, names[number % 7], names[0], name) | {"status": ("failed", "skipped")[number % 2]}
        for number, name in enumerate(names)
    ]
    return {
        **data,
        "tokenizers": {name: row | {"source": name, "spec": name, "version": name[:99]} for name in names},
        "corpora": {names[0]: text},
        "environment": {**data["environment"], "cpu": names[0], names[1]: {names[2]: names[3]}},
        "suite": {**data["suite"], "reference": names[0]},
        "results": [
            *(_named(one, name, names[0], number) for number, name in enumerate(names)),
            *reasons,
            *_dead(data, names),
        ],
    }


def of_texts(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a record of a text of each name, read by two rows; made from one of few texts."""
    (one, *_) = _cases(data, "compression")
    row, text = data["tokenizers"][one["tokenizer"]], data["corpora"][one["corpus"]]
    return {
        **data,
        "tokenizers": dict.fromkeys(names[:2], row),
        "corpora": {name: text | {"spec": name, "language": name[:99]} for name in names},
        "results": [_named(one, row, name, n) for n, name in enumerate(names) for row in names[:2]],
    }


def _cases(data: Mapping[str, Any], benchmark: str) -> list[dict[str, Any]]:
    return [case for case in data["results"] if case["benchmark"] == benchmark]


def _not_measured(case: Mapping[str, Any], row: str, text: str, reason: str) -> dict[str, Any]:
    named = {"tokenizer": row, "corpus": text, "parameters": {"at": reason}, "reason": reason}
    return {**case, "benchmark": "integrity", "measurements": [], "details": {}, **named}


def _named(case: Mapping[str, Any], row: str, text: str, number: int) -> dict[str, Any]:
    """The same case under other names, with other numbers."""
    scale = 1 + number / 100
    measurements = [
        one
        | {"value": _times(one["value"], scale)}
        | {"replicates": [_times(value, scale) for value in one.get("replicates", ())]}
        for one in case["measurements"]
        if one["metric"] in METRICS
    ]
    return {**case, "tokenizer": row, "corpus": text, "measurements": measurements}


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _dead(data: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of which each has names as tokens that merges cannot make: as many as a table lists."""
    case = max(_cases(data, "reachability"), key=lambda one: len(one["details"]["model"]))
    first, *_ = case["details"]["model"]
    listed = [{**first, "id": number, "token": name, "spelled": [name[:50], name]} for number, name in enumerate(names)]
    return [
        {**case, "tokenizer": name, "details": {**case["details"], "model": listed[start : start + FIRST_LISTED]}}
        for name, start in zip(names, range(0, len(listed), FIRST_LISTED), strict=False)
    ]
