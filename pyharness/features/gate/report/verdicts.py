"""What a gate says, in words, and in which order its judgements are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pyharness.features.gate.types import Gate, GateVerdict, Judgement

# Worst first: one word for a verdict's count, and for several.
_COUNTED = {
    GateVerdict.REGRESSION: ("regression", "regressions"),
    GateVerdict.FAILED: ("failed", "failed"),
    GateVerdict.INCOMPARABLE: ("incomparable", "incomparable"),
    GateVerdict.INCONCLUSIVE: ("inconclusive", "inconclusive"),
    GateVerdict.IMPROVEMENT: ("improvement", "improvements"),
    GateVerdict.PASS: ("passed", "passed"),
}
_RANK = {verdict: rank for rank, verdict in enumerate(_COUNTED)}
WRONG = (GateVerdict.REGRESSION, GateVerdict.FAILED, GateVerdict.INCOMPARABLE)  # somebody has to look at these


def verdict_line(gate: Gate) -> str:
    """Return the verdict with counts, in one line.

    >>> from pyharness.types import GateRules, SelfTest
    >>> passed = (Judgement("a", "time", GateVerdict.PASS),)
    >>> verdict_line(Gate("gate", GateRules(), {}, (), (), (), passed, SelfTest(()), GateVerdict.PASS))
    'Pass: 1 passed.'
    """
    said = [counts(gate.judgements) or "nothing was compared"]
    if covered := sum(one.waiver is not None for one in gate.judgements):
        said.append(f"{covered} declared in gate.toml")
    if gate.rounds and (faults := len(gate.self_test.faults)):  # without any, it is arms that could not be made
        said.append(f"the arms differ as such, by {_number(faults, 'sign')}")
    if faults := len(gate.declaration_faults):
        said.append(f"{_number(faults, 'fault')} of gate.toml")
    return f"{gate.verdict.capitalize()}: {'; '.join(said)}."


def counts(judgements: Iterable[Judgement]) -> str:
    """Return how many figures there are of each verdict, worst first."""
    found = Counter(one.verdict for one in judgements)
    return ", ".join(f"{found[one]:,} {words[found[one] > 1]}" for one, words in _COUNTED.items() if found[one])


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def by_benchmark(judgements: Iterable[Judgement]) -> list[Sequence[Judgement]]:
    """Return the figures of each benchmark together, worst and slowest first: where two disagree, both are seen."""
    of: dict[str, list[Judgement]] = {}
    for one in judgements:
        of.setdefault(one.benchmark, []).append(one)
    ranked = (sorted(several, key=_rank) for several in of.values())
    return sorted(ranked, key=lambda several: _rank(several[0]))


def _rank(judgement: Judgement) -> tuple[int, float]:
    return _RANK[judgement.verdict], -(judgement.effect or 0.0)
