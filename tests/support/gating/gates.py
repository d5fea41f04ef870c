"""A gate as it could have run, for what keeps and shows gates; its figures are made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyharness.features.gate.types import (
    ArmFacts,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Launch,
    Rounds,
    SelfTest,
    Timing,
)

ABOUT: Mapping[str, Any] = {
    "created": "2026-01-01T00:00:00+00:00",
    "seconds": 171.5,
    "environment": {"cpu": "a processor", "cores": 2, "python": "3.11.7"},
    "suite_digest": "0" * 64,
}


def judgement(benchmark: str, verdict: str = "pass", effect: float = 0.002, **fields: Any) -> Judgement:
    values: dict[str, Any] = {
        "figure": "time",
        "interval": (effect - 0.01, effect + 0.01),
        "budget": 0.03,
        "launches": 0 if verdict == "pass" else 5,
        "values": {"base": 0.0021, "head": 0.0021 * (1 + effect)},
    }
    return Judgement(benchmark, verdict=GateVerdict(verdict), effect=effect, **(values | fields))


def gate(*judgements: Judgement, verdict: str = "pass", **fields: Any) -> Gate:
    """Return a gate of some judgements, with one launch of two rounds of each benchmark."""
    names = tuple(dict.fromkeys(one.benchmark for one in judgements))
    values: dict[str, Any] = {
        "suite": "gate",
        "rules": GateRules(),
        "arms": {
            "base": ArmFacts("base", "HEAD^1", "1" * 40, {"python": "3.11.7"}, {"numpy": "2.0"}),
            "head": ArmFacts("head", "HEAD", "2" * 40, {"python": "3.11.7"}, {"numpy": "2.0"}),
        },
        "benchmarks": tuple(GateBenchmark(name, "encode", "pyharness") for name in names),
        "launches": (Launch(0, "base"),),
        "rounds": tuple(
            Rounds(name, 0, 3, (Timing(10, 9), Timing(11, 9)), (Timing(10, 9), Timing(12, 9)), (True, False))
            for name in names
        ),
        "self_test": SelfTest((), {"head_slower": [5, 10], "order_effect": 0.001}),
        "about": ABOUT,
    }
    return Gate(judgements=judgements, verdict=GateVerdict(verdict), **(values | fields))
