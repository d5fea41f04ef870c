"""Power of the rule on a machine: gates drawn from launches of identical code, with a slowdown added to one benchmark.

Launches are drawn with replacement, each benchmark by itself. So what a launch does to all benchmarks at once is noise
of each, and a slowdown is taken to shift a launch and not to widen it: slowdowns that were really planted (``Planted``)
could refute that.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyharness.features.gate.judging.effects import Effects, as_escalated
from pyharness.features.gate.judging.launches import LaunchEffect
from pyharness.features.gate.judging.looks import last_level
from pyharness.features.gate.judging.times import judge_times
from pyharness.features.gate.types import GateBenchmark, GateRules, GateVerdict, Judgement
from pyharness.statistics.trimmed import trimmed_mean

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
        for other, drawn in gate.items():
            one = self.benchmarks[other]
            own = self.rules.budget if one.budget is None else one.budget
            launches = [replace(part, log=part.log + shift) for part in drawn] if other == name else drawn
            whole = Effects(one, own if budget is None else budget, launches[0], tuple(launches[1:]))
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
