"""A record of 30 rows on 30 texts, made from one of few: as large as a page is meant for."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

SIZE = 30


def grid(data: Mapping[str, Any], size: int = SIZE) -> dict[str, Any]:
    """Return a record of ``size`` rows on as many texts, and of what is measured once for each row."""
    rows = dict(zip((f"row-{number:02d}" for number in range(size)), _again(data["tokenizers"], size), strict=True))
    texts = dict(zip((f"text-{number:02d}" for number in range(size)), _again(data["corpora"], size), strict=True))
    return {
        **data,
        "tokenizers": {name: data["tokenizers"][one] for name, one in rows.items()},
        "corpora": {name: data["corpora"][one] for name, one in texts.items()}
        | {"aligned": data["corpora"]["aligned"]},
        "suite": {**data["suite"], "reference": "row-00"},
        "results": [*_on_texts(data, rows, texts), *_of_rows(data, rows)],
    }


def _again(names: Mapping[str, Any], size: int) -> list[str]:
    known = [name for name in names if name != "aligned"]
    return [known[number % len(known)] for number in range(size)]


def _on_texts(data: Mapping[str, Any], rows: Mapping[str, str], texts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    known = {
        (case["tokenizer"], case["corpus"]): case for case in data["results"] if case["benchmark"] == "compression"
    }
    for row, one in rows.items():
        for text, other in texts.items():
            yield _scaled(known[one, other], row, text)


def _of_rows(data: Mapping[str, Any], rows: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for case in data["results"]:
        if case["benchmark"] in ("fairness", "reachability", "vocabulary"):
            yield from (_scaled(case, row, case["corpus"]) for row, one in rows.items() if one == case["tokenizer"])


def _scaled(case: Mapping[str, Any], row: str, text: str | None) -> dict[str, Any]:
    """The case under other names, its numbers up to a fifth larger: the same for each name, whenever it is made."""
    scale = 1 + random.Random(f"{row} {text}").random() / 5

    def scaled(value: Any) -> Any:
        return value * scale if isinstance(value, float) else value

    measurements = [
        one | {name: list(map(scaled, one[name])) for name in ("replicates", "curve") if name in one}
        | {"value": scaled(one["value"])}
        for one in case["measurements"]
    ]  # fmt: skip
    return {**case, "tokenizer": row, "corpus": text, "measurements": measurements}
