"""What this machine can tell apart: from gates of identical code, and of code that was slowed on purpose.

Power is that of gates drawn from launches of identical code, with a slowdown added to one benchmark. Launches are drawn
with replacement, each benchmark by itself. So what a launch does to all benchmarks at once is noise of each, and a
slowdown is taken to shift a launch and not to widen it: slowdowns that were really planted (``Planted``) could refute
that. A calibration is kept for one machine and suite, in the user's cache: of another machine it says nothing.
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
from pyharness.features.gate.verdicts.times import judge_times, last_level, trimmed_mean
from pyharness.features.gate.verdicts.wording import percent, several
from pyharness.statistics.hypotheses import rate_bound
from pyharness.store.json_lines import load
from pyharness.system import atomic_file, environment, folders
from pyharness.types import InputError

DRAWS = 100
POWER = 0.8
FEWEST_LAUNCHES = 6  # of a benchmark: fewer do not show their own spread
FINEST, COARSEST = 0.001, 0.5  # slowdowns between which the detectable one is looked for
STEPS = 8  # of a search by halves, on a scale of ratios: 2.5 % apart
SEED = 3

Pool = Mapping[str, Sequence[LaunchEffect]]  # launches of identical code, by benchmark


@dataclass(frozen=True)
class Draws:
    """Gates of identical code, drawn once: every slowdown is added to the same ones."""

    benchmarks: Mapping[str, GateBenchmark]
    rules: GateRules
    gates: Sequence[Mapping[str, Sequence[LaunchEffect]]]  # the screen, then the launches

    def verdicts(self, name: str, slowdown: float, budget: float | None = None) -> list[Judgement]:
        """Judgements of one benchmark that is slower, over all draws; ``budget``: instead of those that are set."""
        return [self._judged(gate, name, slowdown, budget) for gate in self.gates]

    def _judged(
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
        return next(found for found in judge_times(measured, self.rules) if found.benchmark == name)


def drawn(pool: Pool, benchmarks: Sequence[GateBenchmark], rules: GateRules) -> Draws:
    """Draw gates of those benchmarks that have launches enough."""
    generator = random.Random(SEED)  # noqa: S311 -- draws, no secrets
    wide = {name: _unbiased(launches) for name, launches in pool.items() if len(launches) >= FEWEST_LAUNCHES}
    gates = [
        {name: generator.choices(launches, k=rules.launches + 1) for name, launches in wide.items()}
        for _ in range(DRAWS)
    ]
    return Draws({one.name: one for one in benchmarks}, rules, gates)


def _unbiased(launches: Sequence[LaunchEffect]) -> list[LaunchEffect]:
    """Around 0, where identical code is, and as wide as what they are a sample of: draws of n have 1 - 1/n of it."""
    middle = trimmed_mean([one.log for one in launches])
    wider = math.sqrt(len(launches) / (len(launches) - 1))
    return [replace(one, log=wider * (one.log - middle)) for one in launches]


def power(draws: Draws, name: str, slowdown: float) -> float:
    """Share of gates that end in a regression of this benchmark where it is slower."""
    found = draws.verdicts(name, slowdown)
    return sum(one.verdict is GateVerdict.REGRESSION for one in found) / len(found)


def detectable(draws: Draws, name: str) -> float:
    """Smallest slowdown that the test proves in 80 of 100 gates, at a budget of its size; ``COARSEST`` if none does.

    The budget itself is left out: no slowdown of its size is beyond it more than half of the time.
    """
    low, high = math.log(FINEST), math.log(COARSEST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _proven(draws, name, math.exp(middle)) >= POWER:
            high = middle
        else:
            low = middle
    return math.exp(high)


def _proven(draws: Draws, name: str, slowdown: float) -> float:
    judgements = draws.verdicts(name, slowdown, slowdown)
    level = last_level(draws.rules)
    proven = [found.p is not None and found.p < level and (found.effect or 0) > 0 for found in judgements]
    return sum(proven) / len(proven)


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
    own = {one.name: one for one in gate.benchmarks if not one.is_control(under_test)}
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


def machine() -> dict[str, Any]:
    """What identifies a machine for as long as its times mean the same: nothing that changes from day to day."""
    facts = environment.fingerprint()
    stable = {name: facts[name] for name in ("machine", "cpu", "cores", "memory_bytes")}
    return {**stable, "gpus": gpus} if (gpus := environment.gpus()) else stable


def place(of: Mapping[str, Any], suite_digest: str) -> Path:
    """File of the calibration of a machine and suite."""
    key = json.dumps([dict(of), suite_digest], sort_keys=True)
    return folders.cache() / "gate" / "calibrations" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def keep(calibration: Calibration) -> Path:
    """Write a calibration in the place of an older one, whole or not at all; returns the file.

    Raises:
        InputError: it cannot be written.
    """
    path = place(calibration.machine, calibration.suite_digest)
    data = calibration_as_json(calibration)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.keep(path, json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise InputError(
            f"cannot keep the calibration in {str(path)!r}: {error.strerror or error}; name a folder in PYHARNESS_CACHE"
        ) from None
    return path


def kept(of: Mapping[str, Any], suite_digest: str) -> Calibration | None:
    """Calibration of a machine and suite, or None where none was made.

    Raises:
        InputError: there is a file, and it is none of ours, or of a newer version.
    """
    path = place(of, suite_digest)
    if not path.exists():
        return None
    found = calibration_from_json(load(path), repr(str(path)))
    if dict(found.machine) != dict(of) or found.suite_digest != suite_digest:
        raise InputError(f"{str(path)!r} is the calibration of another machine or suite: remove it, or calibrate anew")
    return found


__all__ = ["calibrated", "check_budget", "keep", "kept", "machine", "place"]
