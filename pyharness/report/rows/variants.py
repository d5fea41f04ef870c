"""What tells cases of one benchmark apart: the parameters in which they differ."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.types import CaseResult


def differing(one: Sequence[CaseResult], among: Sequence[CaseResult]) -> list[str]:
    """Parameters of some cases in which they differ from others: what tables must tell apart."""
    given = {name: None for result in one for name in sorted(result.case.parameters)}
    if not given:
        return []
    first = one[0].case.parameters
    return [name for name in given if any(other.case.parameters.get(name) != first.get(name) for other in among)]


def variant(result: CaseResult, among: Sequence[CaseResult]) -> str:
    """Parameters of a case in which the cases of its benchmark differ, with their values."""
    given = result.case.parameters
    return ", ".join(f"{name}={given[name]}" for name in differing([result], among) if name in given)
