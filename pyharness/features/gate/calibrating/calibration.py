"""What is computed from gates of identical code, and of code that was slowed on purpose."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyharness.features.gate.calibrating.resampling import FEWEST_LAUNCHES, Draws, Pool, detectable, drawn, power
from pyharness.features.gate.judging.controls import is_control
from pyharness.features.gate.judging.launches import effect
from pyharness.features.gate.judging.wording import percent, several
from pyharness.features.gate.types import (
    Calibration,
    Gate,
    GateBenchmark,
    GateVerdict,
    Judgement,
    Planted,
    Sensitivity,
)
from pyharness.statistics.hypotheses import rate_bound
from pyharness.types import InputError

NAMED = 3  # benchmarks in a message


def calibrated(
    machine: Mapping[str, Any],
    identical: Sequence[Gate],
    slowed: Sequence[tuple[Gate, Mapping[str, float]]] = (),
    *,
    under_test: str = "",
    seconds: float = 0.0,
    made: str = "",
) -> Calibration:
    """Compute all of it. ``slowed``: gates with the slowdowns that were planted, by benchmark; all of one suite.

    Controls, of another library than the one ``under_test``, are never judged, so that they count as nothing.

    Raises:
        InputError: no gate has compared anything.
    """
    taken = [*((gate, dict[str, float]()) for gate in identical), *slowed]
    gates = [(_without_controls(gate, under_test), planted) for gate, planted in taken]
    unchanged = [found for gate, planted in gates for found in _times(gate) if found.benchmark not in planted]
    if not unchanged:
        raise InputError("nothing of identical code was compared: there is nothing to calibrate by")
    first, pool = gates[0][0], _pool(gates)
    draws = drawn(pool, first.benchmarks, first.rules)
    alarms = sum(found.verdict is GateVerdict.REGRESSION for found in unchanged)
    return Calibration(
        machine, first.suite, str(first.about.get("suite_digest", "")), first.rules, len(gates), len(unchanged),
        alarms, rate_bound(alarms, len(unchanged)), tuple(_sensitivities(pool, first.benchmarks, draws)),
        tuple(_planted(gates, draws)), seconds, made,
    )  # fmt: skip


def _without_controls(gate: Gate, under_test: str) -> Gate:
    own = {one.name: one for one in gate.benchmarks if not is_control(one, under_test)}
    judgements = tuple(found for found in gate.judgements if found.benchmark in own)
    return replace(gate, benchmarks=tuple(own.values()), judgements=judgements)


def _times(gate: Gate) -> list[Judgement]:
    return [found for found in gate.judgements if found.figure == "time" and found.effect is not None]


def _pool(gates: Sequence[tuple[Gate, Mapping[str, float]]]) -> Pool:
    """Effects of all launches of unchanged benchmarks: screens were chosen by nothing, and neither were the others."""
    pool: dict[str, list[Any]] = {}
    for gate, planted in gates:
        threads = {one.name: one.threads for one in gate.benchmarks}
        for part in gate.rounds:
            if part.benchmark not in planted and part.benchmark in threads:
                found = effect(part, threads[part.benchmark])
                pool.setdefault(part.benchmark, []).extend([] if found is None else [found])
    return pool


def _sensitivities(pool: Pool, benchmarks: Sequence[GateBenchmark], draws: Draws) -> Iterator[Sensitivity]:
    for one in benchmarks:
        logs = [launch.log for launch in pool.get(one.name, ())]
        noise = statistics.stdev(logs) if len(logs) > 1 else None
        smallest = detectable(draws, one.name) if len(logs) >= FEWEST_LAUNCHES else None
        yield Sensitivity(one.name, len(logs), noise, smallest)


def _planted(slowed: Sequence[tuple[Gate, Mapping[str, float]]], draws: Draws) -> Iterator[Planted]:
    for slowdown in sorted({slowdown for _, planted in slowed for slowdown in planted.values()}):
        found = [one for gate, planted in slowed for one in _times(gate) if planted.get(one.benchmark) == slowdown]
        known = [one.benchmark for one in found if one.benchmark in draws.gates[0]]
        shares = {name: power(draws, name, slowdown) for name in set(known)}
        expected = statistics.fmean(shares[name] for name in known) if known else None
        regressions = sum(one.verdict is GateVerdict.REGRESSION for one in found)
        yield Planted(slowdown, len(found), regressions, expected)


def check_budget(calibration: Calibration, budget: float, benchmarks: Sequence[GateBenchmark]) -> None:
    """Refuse a budget that is finer than what the machine can tell.

    Raises:
        InputError: names the benchmarks, their figures, and what to do.
    """
    known = {one.benchmark: one for one in calibration.benchmarks}
    finer: list[tuple[float, float, str]] = []
    for one in benchmarks:
        own, found = budget if one.budget is None else one.budget, known.get(one.name)
        if found is not None and found.detectable is not None and found.detectable > own:
            finer.append((found.detectable, own, one.name))
    if not finer:
        return
    finer.sort(reverse=True)
    figures = ", ".join(f"{name} from {percent(least)} (budget {percent(own)})" for least, own, name in finer[:NAMED])
    others = f", and {several(len(finer) - NAMED, 'other')}" if len(finer) > NAMED else ""
    raise InputError(
        f"the budget is finer than what this machine can tell apart, by its calibration: {figures}{others}; take a "
        "larger one (--budget, or that of the benchmark in its suite), or calibrate anew on a quieter machine"
    )
