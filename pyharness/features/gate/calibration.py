"""Sensitivity of a machine, measured by gates of identical code and of deliberately slowed code.

Power comes from resampled gates: launches of identical code, with a slowdown added to one benchmark. Launches are drawn
with replacement, separately for each benchmark. So an effect of a launch on all benchmarks counts as noise of each.
The model assumes that a slowdown shifts a launch's effect and does not widen it; slowdowns that were really planted
(``Planted``) can refute that. The user's cache keeps a calibration per machine and suite: it holds for no other
machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyharness.features.gate.records import calibration_as_json, calibration_from_json
from pyharness.features.gate.types import (
    Calibration,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Planted,
    Sensitivity,
)
from pyharness.features.gate.verdicts.effects import Effects, LaunchEffect, as_escalated, effect
from pyharness.features.gate.verdicts.hypotheses import rate_bound
from pyharness.features.gate.verdicts.times import judge_times, last_level, trimmed_mean
from pyharness.features.gate.verdicts.wording import percent
from pyharness.store.json_values import load
from pyharness.system import atomic_file, environment, folders
from pyharness.types import InputError, counted

DRAWS = 100
POWER = 0.8
FEWEST_LAUNCHES = 6  # of a benchmark: fewer do not show their own spread
FINEST, COARSEST = 0.001, 0.5  # range of slowdowns in the search for the detectable one
STEPS = 8  # of a bisection on a logarithmic scale: 2.5 % apart
SEED = 3

Pool = Mapping[str, Sequence[LaunchEffect]]  # launches of identical code, by benchmark


@dataclass(frozen=True)
class Draws:
    """Resampled gates of identical code, drawn once: every slowdown is added to the same draws."""

    benchmarks: Mapping[str, GateBenchmark]
    rules: GateRules
    gates: Sequence[Mapping[str, Sequence[LaunchEffect]]]  # by benchmark: the screen, then the launches

    def verdicts(self, name: str, slowdown: float, budget: float | None = None) -> list[Judgement]:
        """Judge one benchmark in all draws with a slowdown added; ``budget`` replaces the budgets of all benchmarks."""
        return [self._judge(gate, name, slowdown, budget) for gate in self.gates]

    def _judge(
        self, gate: Mapping[str, Sequence[LaunchEffect]], name: str, slowdown: float, budget: float | None
    ) -> Judgement:
        shift = math.log1p(slowdown)
        measured = []
        for other, launches in gate.items():
            one = self.benchmarks[other]
            own = self.rules.budget if one.budget is None else one.budget
            slowed = [replace(part, log=part.log + shift) for part in launches] if other == name else launches
            whole = Effects(one, own if budget is None else budget, slowed[0], tuple(slowed[1:]))
            measured.append(as_escalated(whole, self.rules))
        return next(judgement for judgement in judge_times(measured, self.rules) if judgement.benchmark == name)


def drawn(pool: Pool, benchmarks: Sequence[GateBenchmark], rules: GateRules) -> Draws:
    """Draw gates of the benchmarks with enough launches."""
    generator = random.Random(SEED)  # noqa: S311 -- draws, no secrets
    wide = {name: _remove_bias(launches) for name, launches in pool.items() if len(launches) >= FEWEST_LAUNCHES}
    gates = [
        {name: generator.choices(launches, k=rules.launches + 1) for name, launches in wide.items()}
        for _ in range(DRAWS)
    ]
    return Draws({one.name: one for one in benchmarks}, rules, gates)


def _remove_bias(launches: Sequence[LaunchEffect]) -> list[LaunchEffect]:
    """Centre effects at 0 and scale them to the population's spread: draws of n have 1 - 1/n of its variance."""
    middle = trimmed_mean([one.log for one in launches])
    wider = math.sqrt(len(launches) / (len(launches) - 1))
    return [replace(one, log=wider * (one.log - middle)) for one in launches]


def power(draws: Draws, name: str, slowdown: float) -> float:
    """Return the share of draws that report a regression of a benchmark slowed by ``slowdown``."""
    judgements = draws.verdicts(name, slowdown)
    return sum(one.verdict is GateVerdict.REGRESSION for one in judgements) / len(judgements)


def detectable(draws: Draws, name: str) -> float:
    """Find the smallest slowdown that is significant in 80 % of draws, at a budget of its size; else ``COARSEST``.

    The configured budget does not count: a slowdown of exactly that size exceeds it in only about half of the gates.
    """
    low, high, level = math.log(FINEST), math.log(COARSEST), last_level(draws.rules)
    for _ in range(STEPS):
        middle = (low + high) / 2
        judgements = draws.verdicts(name, math.exp(middle), math.exp(middle))
        significant = [one.p is not None and one.p < level and (one.effect or 0) > 0 for one in judgements]
        if sum(significant) / len(significant) >= POWER:
            high = middle
        else:
            low = middle
    return math.exp(high)


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
    """Compute a calibration. ``slowed``: gates with their planted slowdowns by benchmark; all of one suite.

    Controls (benchmarks of another library than ``under_test``) are never judged, so they do not count.

    Raises:
        InputError: no gate compared an unchanged benchmark.
    """
    taken = [*((gate, dict[str, float]()) for gate in identical), *slowed]
    gates = [(_without_controls(gate, under_test), planted) for gate, planted in taken]
    unchanged = [
        judgement for gate, planted in gates for judgement in _times(gate) if judgement.benchmark not in planted
    ]
    if not unchanged:
        raise InputError("no benchmark of identical code was compared: there is nothing to calibrate with")
    first, pool = gates[0][0], _pool(gates)
    draws = drawn(pool, first.benchmarks, first.rules)
    alarms = sum(judgement.verdict is GateVerdict.REGRESSION for judgement in unchanged)
    return Calibration(
        machine, first.suite, str(first.about.get("suite_digest", "")), first.rules, len(gates), len(unchanged),
        alarms, rate_bound(alarms, len(unchanged)), tuple(_sensitivities(pool, first.benchmarks, draws)),
        tuple(_count_planted(gates, draws)), seconds, made,
    )  # fmt: skip


def _without_controls(gate: Gate, under_test: str) -> Gate:
    own = {one.name: one for one in gate.benchmarks if not one.is_control(under_test)}
    judgements = tuple(judgement for judgement in gate.judgements if judgement.benchmark in own)
    return replace(gate, benchmarks=tuple(own.values()), judgements=judgements)


def _times(gate: Gate) -> list[Judgement]:
    return [judgement for judgement in gate.judgements if judgement.figure == "time" and judgement.effect is not None]


def _pool(gates: Sequence[tuple[Gate, Mapping[str, float]]]) -> Pool:
    """Collect the effects of all launches of unchanged benchmarks; none was selected by its own result."""
    pool: dict[str, list[Any]] = {}
    for gate, planted in gates:
        threads = {one.name: one.threads for one in gate.benchmarks}
        for part in gate.rounds:
            if part.benchmark not in planted and part.benchmark in threads:
                launch_effect = effect(part, threads[part.benchmark])
                pool.setdefault(part.benchmark, []).extend([] if launch_effect is None else [launch_effect])
    return pool


def _sensitivities(pool: Pool, benchmarks: Sequence[GateBenchmark], draws: Draws) -> Iterator[Sensitivity]:
    for one in benchmarks:
        logs = [launch.log for launch in pool.get(one.name, ())]
        noise = statistics.stdev(logs) if len(logs) > 1 else None
        smallest = detectable(draws, one.name) if len(logs) >= FEWEST_LAUNCHES else None
        yield Sensitivity(one.name, len(logs), noise, smallest)


def _count_planted(slowed: Sequence[tuple[Gate, Mapping[str, float]]], draws: Draws) -> Iterator[Planted]:
    for slowdown in sorted({slowdown for _, planted in slowed for slowdown in planted.values()}):
        judgements = [one for gate, planted in slowed for one in _times(gate) if planted.get(one.benchmark) == slowdown]
        names = [one.benchmark for one in judgements if one.benchmark in draws.gates[0]]
        shares = {name: power(draws, name, slowdown) for name in set(names)}
        expected = statistics.fmean(shares[name] for name in names) if names else None
        regressions = sum(one.verdict is GateVerdict.REGRESSION for one in judgements)
        yield Planted(slowdown, len(judgements), regressions, expected)


def check_budget(calibration: Calibration, budget: float, benchmarks: Sequence[GateBenchmark]) -> None:
    """Refuse a budget below the machine's detectable slowdown.

    Raises:
        InputError: a budget is smaller; the message has the first benchmarks, their figures, and the remedy.
    """
    sensitivities = {one.benchmark: one for one in calibration.benchmarks}
    finer: list[tuple[float, float, str]] = []
    for one in benchmarks:
        own, sensitivity = budget if one.budget is None else one.budget, sensitivities.get(one.name)
        if sensitivity is not None and sensitivity.detectable is not None and sensitivity.detectable > own:
            finer.append((sensitivity.detectable, own, one.name))
    if not finer:
        return
    finer.sort(reverse=True)
    figures = ", ".join(f"{name} from {percent(least)} (budget {percent(own)})" for least, own, name in finer[:NAMED])
    others = f", and {counted(len(finer) - NAMED, 'other')}" if len(finer) > NAMED else ""
    raise InputError(
        f"the budget is below the minimum detectable effect of this machine: {figures}{others}; take a "
        "larger one (--budget, or in the suite), or calibrate again on a quieter machine"
    )


def machine() -> dict[str, Any]:
    """Return the facts that identify a machine while its times stay comparable; none changes from day to day."""
    facts = environment.fingerprint()
    stable = {name: facts[name] for name in ("machine", "cpu", "cores", "memory_bytes")}
    return {**stable, "gpus": gpus} if (gpus := environment.gpus()) else stable


def place(of: Mapping[str, Any], suite_digest: str) -> Path:
    """Return the file of the calibration of a machine and suite."""
    key = json.dumps([dict(of), suite_digest], sort_keys=True)
    return folders.cache() / "gate" / "calibrations" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def keep(calibration: Calibration) -> Path:
    """Write a calibration atomically over an older one; return the file.

    Raises:
        InputError: the file cannot be written.
    """
    path = place(calibration.machine, calibration.suite_digest)
    data = calibration_as_json(calibration)
    with folders.caching("the calibration", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.keep(path, json.dumps(data, indent=1) + "\n")
    return path


def kept(of: Mapping[str, Any], suite_digest: str) -> Calibration | None:
    """Return the calibration of a machine and suite; None without one.

    Raises:
        InputError: the file cannot be read, is no calibration of this version, or is of another machine or suite.
    """
    path = place(of, suite_digest)
    if not path.exists():
        return None
    calibration = calibration_from_json(load(path), repr(str(path)))
    if dict(calibration.machine) != dict(of) or calibration.suite_digest != suite_digest:
        raise InputError(f"{str(path)!r} is the calibration of another machine or suite: remove it, or calibrate again")
    return calibration
