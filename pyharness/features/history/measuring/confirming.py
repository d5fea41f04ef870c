"""Confirm what is suspected: a gate of a revision before a step against the last one of its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyharness.features.gate.types import Gate, GateVerdict
from pyharness.features.history.lines import History, LineChange, Outcome
from pyharness.features.history.measuring.gates import HistoryGates, NoFurtherGate, TimeIsOver
from pyharness.types import InputError

LAUNCHES = 10
_OUTCOMES: dict[GateVerdict, Outcome] = {
    GateVerdict.REGRESSION: "confirmed",
    GateVerdict.PASS: "not confirmed",
    GateVerdict.IMPROVEMENT: "not confirmed",
    GateVerdict.INCONCLUSIVE: "inconclusive",
}


def confirmed(history: History, gates: HistoryGates) -> History:
    """Return the history with an outcome for each change that is suspected, of the suite of ``gates``.

    Changes between the same two revisions share a gate. Changes of another suite stay suspected, and say so.
    """
    pairs: dict[tuple[str, str], list[LineChange]] = {}
    judged: dict[int, LineChange] = {}
    for one in history.suspected:
        if (suite := one.line.series.suite) == gates.suite:
            pairs.setdefault((one.baseline.revision, one.line.points[-1].revision), []).append(one)
        else:
            judged[id(one)] = replace(one, why=f"no gate was asked: name its suite {suite!r} with --suite or --pytest")
    for (before, last), changes in pairs.items():
        for one, outcome in zip(changes, _outcomes(gates, before, last, changes), strict=True):
            judged[id(one)] = replace(one, outcome=outcome[0], why=outcome[1])
    return replace(history, changes=tuple(judged.get(id(one), one) for one in history.changes))


def _outcomes(
    gates: HistoryGates, before: str, last: str, changes: Sequence[LineChange]
) -> list[tuple[Outcome, str]]:  # fmt: skip
    names = tuple(dict.fromkeys(one.line.series.benchmark for one in changes))
    counts = any(one.line.series.figure == "instructions" for one in changes)
    try:
        gate = gates.measured(before, last, LAUNCHES, only=names, instructions=counts)
    except TimeIsOver:
        return [("not compared", "--max-minutes passed before its gate ended")] * len(changes)
    except NoFurtherGate:
        raise
    except InputError as refusal:
        return [("not compared", str(refusal))] * len(changes)
    return [_outcome(gate, one) for one in changes]


def _outcome(gate: Gate, change: LineChange) -> tuple[Outcome, str]:
    """Return what the gate says of a figure. Its faults of gate.toml are no regression: it measured a part."""
    if gate.self_test.faults:
        return "not compared", gate.self_test.faults[0]
    name, figure = change.line.series.benchmark, change.line.series.figure
    judgement = next((one for one in gate.judgements if (one.benchmark, one.figure) == (name, figure)), None)
    if judgement is None:
        return "not compared", f"the gate has no {figure} of it"
    if judgement.waiver is not None:
        return "waived", f"gate.toml accepts it until {judgement.waiver.expires}: {judgement.waiver.reason}"
    return _OUTCOMES.get(judgement.verdict, "not compared"), judgement.reason or judgement.verdict
