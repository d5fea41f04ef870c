"""One benchmark in numbers: what each launch says, and whether the screen gives reason for more of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyharness.features.gate.judging.launches import LaunchEffect, effect
from pyharness.features.gate.types import SCREEN, GateBenchmark, GateRules, Rounds

DOUBT = 1.0  # standard errors by which a screen may be too low: with 2, a busy machine suspects everything


@dataclass(frozen=True, slots=True)
class Effects:
    """One benchmark as it went: effects of its launches."""

    benchmark: GateBenchmark
    budget: float
    screen: LaunchEffect | None  # None: no usable round
    launches: tuple[LaunchEffect, ...] = ()  # without the screen

    @property
    def slow(self) -> float:
        """The budget, a logarithm."""
        return math.log1p(self.budget)

    def null(self, rules: GateRules) -> float:
        """What is tolerated, a logarithm: at most half of the budget, or a test of it would ask for more than it."""
        return math.log1p(min(rules.tolerated, self.budget / 2))


def effects_of(benchmark: GateBenchmark, rounds: Iterable[Rounds], rules: GateRules) -> Effects:
    """Effects of the rounds of one benchmark, by number of launch."""
    mine = sorted((part for part in rounds if part.benchmark == benchmark.name), key=lambda part: part.launch)
    effects = {part.launch: effect(part, benchmark.threads) for part in mine}
    screen = effects.pop(SCREEN, None)
    known = tuple(found for found in effects.values() if found is not None)
    return Effects(benchmark, rules.budget if benchmark.budget is None else benchmark.budget, screen, known)


def suspect(one: Effects, rules: GateRules) -> bool:
    """Whether the screen gives reason for more launches.

    It does where the head looks slower by more than ``rules.screen`` (or a smaller budget), where the noise of
    the rounds would hide a slowdown beyond the budget, and where the head looks faster by more than the budget: that is
    worth saying and fails nothing, so it is not looked for below it. A gate has to be quick.
    """
    if one.screen is None:
        return False
    threshold = min(math.log1p(rules.screen), one.slow)
    highest = one.screen.log + DOUBT * one.screen.error
    return one.screen.log > threshold or one.screen.log < -one.slow or highest > one.slow


def as_escalated(one: Effects, rules: GateRules) -> Effects:
    """Leave out launches that a gate would not have made, as its screen asks for none."""
    return one if suspect(one, rules) else replace(one, launches=())
