"""Controls: benchmarks that a change of what is under test cannot move. They judge the arms, and are not judged."""

from __future__ import annotations

from dataclasses import replace

from pyharness.features.gate.arms.environments import normalised
from pyharness.features.gate.types import GateBenchmark, GateVerdict, Judgement


def is_control(benchmark: GateBenchmark, under_test: str) -> bool:
    """Whether it measures another distribution than the one ``under_test``; of two tokenizers ("") none does."""
    return bool(under_test) and normalised(benchmark.library) != normalised(under_test)


def as_control(found: Judgement, library: str) -> Judgement:
    """Only show the figures: what a control does is noise, or a fault of the arms, which the self-test finds."""
    if found.verdict is GateVerdict.INCOMPARABLE:  # it has no figures
        return found
    reason = f"control, as {library} is not under test: {found.reason}"
    return replace(found, verdict=GateVerdict.PASS, p=None, reason=reason)
