"""Knees below the table of adaptations: which rows are a curve, and what is said of it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from pyharness.features.adaptation.benchmark import knees
from pyharness.types import Case, CaseResult, Measurement

CORPUS = "shard:1-4/5:path:et.jsonl"


def spread(gain: float) -> tuple[float, ...]:
    """Replicates that hardly differ, and none of which carries their variance."""
    return tuple(math.expm1(math.log1p(gain) * (1 + 1e-7 * (-1) ** group)) for group in range(32))


def result(row: str, size: int, gain: float | None) -> CaseResult:
    measurements = (
        Measurement("added_tokens", size),
        Measurement("compression_gain", gain, part="base", replicates=() if gain is None else spread(gain)),
        Measurement("compression_gain", 0.5, part="naive-extension"),
    )
    return CaseResult(Case("adaptation", row, "et", {}), "ok", None, measurements)


def record(rows: dict[str, str]) -> dict[str, Any]:
    return {"tokenizers": {row: {"spec": spec} for row, spec in rows.items()}}


def spec(trainer: str, size: int) -> str:
    return f"native+trained:{trainer}?base=a.json&tokens={size}&corpus={CORPUS}"


def test_rows_that_differ_in_their_size_alone_are_a_curve() -> None:
    sizes = [1000, 2000, 4000, 8000]
    trainers = {"continued": "continued-bpe", "naive": "naive-extension"}
    data = record({f"a {name} {size}": spec(trainers[name], size) for name in trainers for size in sizes})
    rates = {"continued": math.log(1.005) / math.log(6000 / 5000), "naive": 50.0}
    results = [
        result(f"a {name} {size}", size, math.expm1(min(rate * math.log(size), 600)))
        for size in reversed(sizes)
        for name, rate in rates.items()
    ]
    bent, straight = knees(results, data, "base")
    assert re.match(r"a continued 1000 to 8000: 1,000 .*under 0\.5 % .*\b5,000\b.*\(5,000 to 5,000\)", bent)
    assert re.match(r"a naive 1000 to 8000: 1,000 .*\b0\.5 % or more", straight)
    flat = [result(f"a continued {size}", size, 0.1) for size in sizes]
    (told,) = knees(flat, data, "base")
    assert re.match(r"a continued 1000 to 8000: 1,000 .*under 0\.5 % .*first size", told)
    assert not list(knees(flat, data, "leaf-pruning")), "no such gain"
    rising = [
        result(f"a continued {size}", size, gain) for size, gain in zip(sizes, (0.1, 0.101, 0.102, 0.2), strict=True)
    ]
    (told,) = knees(rising, data, "base")
    assert re.match(r"a continued 1000 to 8000: 1,000 .*\b0\.5 % or more .*\blast ", told), (
        "of earlier steps it says nothing"
    )


def test_an_end_that_is_not_resolved_is_said() -> None:
    sizes = [1000, 2000, 4000]
    data = record({f"a {size}": spec("continued-bpe", size) for size in sizes})
    said = r"a 1000 to 4000: .*\b0\.5 % .*undecided .*\b{} size"
    for rate, end in ((0.01, "last"), (0.003, "first")):
        known = [result(f"a {size}", size, math.expm1(rate * size / 1000)) for size in sizes]
        assert "undecided" not in "".join(knees(known, data, "base"))
        unknown = [
            replace(one, measurements=tuple(replace(m, replicates=()) for m in one.measurements)) for one in known
        ]
        (told,) = knees(unknown, data, "base")
        assert re.match(said.format(end), told)


def test_what_is_no_curve() -> None:
    rows = {"a": spec("continued-bpe", 1000), "b": spec("continued-bpe", 2000), "c": "gpt2", "d": "?", "e": CORPUS}
    rows |= {f"leaf {share}": f"trained:leaf-pruning?base=a.json&share=0.{share}&corpus=x" for share in (1, 2, 3)}
    results = [result(row, 1000 * number, 0.1) for number, row in enumerate(rows, 1)]
    assert not list(knees([*results, result("unknown", 5, 0.1)], record(rows), "base"))
    three = {row: spec("continued-bpe", size) for row, size in {"a": 1000, "b": 2000, "c": 4000}.items()}
    lacking = [result(row, size, gain) for row, size, gain in (("a", 1000, 0.1), ("b", 2000, None), ("c", 4000, 0.3))]
    assert not list(knees(lacking, record(three), "base"))
