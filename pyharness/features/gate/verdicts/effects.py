"""Effects of one benchmark: a number per launch, and whether the screen asks for more launches.

Rounds of one launch are dependent: they share its processes, their memory layout, and the machine's state. So p values
of rounds are too small (12.6 % of them below 0.05 on identical code), and one launch gives one number here.
``studies/gate_rule.py`` simulates the errors of rules on such numbers: docs/gate.md "How often the rule errs,
simulated".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyharness.features.gate.types import SCREEN, GateBenchmark, GateRules, Launch, Rounds, Side, Timing
from pyharness.features.gate.verdicts.hypotheses import difference_interval
from pyharness.statistics.samples import median

FEWEST_ROUNDS = 4  # with two positive times: fewer give no usable spread
_SIGMA = 1.4826  # standard deviation / median absolute deviation, of a normal distribution
_MEDIAN_ERROR = 1.2533  # standard error of its median / that of its mean: root of pi / 2


@dataclass(frozen=True, slots=True)
class LaunchEffect:
    """One launch of one benchmark, in logarithms."""

    log: float  # of head / base; above 0 the head is slower
    error: float  # its standard error by the rounds, without the variance between launches
    order: float | None  # log of second / first in a round; None where the order never changed


def nanoseconds(timings: Sequence[Timing], threads: int) -> list[int]:
    """Return the judged times: CPU time for one thread, whatever else runs; wall time for several."""
    return [timing.cpu if threads == 1 else timing.wall for timing in timings]


def call_seconds(rounds: Iterable[Rounds], side: Side, threads: int) -> list[float]:
    """Return one side's seconds per call, of each round."""
    return [
        time / part.calls / 1e9
        for part in rounds
        for time in nanoseconds(part.base if side == "base" else part.head, threads)
    ]


def effect(rounds: Rounds, threads: int = 1) -> LaunchEffect | None:
    """Return the mean of two medians of log(head / base): of the rounds with the head first, and of the others.

    So the effect of the order cancels. None where fewer than ``FEWEST_ROUNDS`` rounds have two positive times.
    """
    times = zip(nanoseconds(rounds.base, threads), nanoseconds(rounds.head, threads), rounds.head_first, strict=True)
    logs: tuple[list[float], list[float]] = [], []
    for base, head, head_first in times:
        if base > 0 and head > 0:
            logs[head_first].append(math.log(head / base))
    if (count := len(logs[0]) + len(logs[1])) < FEWEST_ROUNDS:
        return None
    medians = [median(part) for part in logs if part]
    apart = [abs(log - median(part)) for part in logs for log in part]
    error = _MEDIAN_ERROR * _SIGMA * median(apart) / math.sqrt(count)
    order = (medians[0] - medians[1]) / 2 if len(medians) == 2 else None
    return LaunchEffect(math.fsum(medians) / len(medians), error, order)


def start_effect(launches: Sequence[Launch], logs: Mapping[int, float]) -> tuple[float, tuple[float, float]] | None:
    """Return the effect of starting first: half of log(head / base) of launches with the head first, minus the others.

    ``logs``: of every launch, over the same benchmarks. The second value is the 95 % interval. None below three
    launches, or where one side always started first.
    """
    groups: dict[Side, list[float]] = {"head": [], "base": []}
    for launch in launches:
        if launch.number in logs:
            groups[launch.started_first].append(logs[launch.number])
    if (interval := difference_interval(groups["head"], groups["base"])) is None:
        return None
    low, high = interval[0] / 2, interval[1] / 2
    return (low + high) / 2, (low, high)


DOUBT = 1.0  # standard errors added to a screen's effect: with 2, a busy machine suspects everything


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of one benchmark's launches."""

    benchmark: GateBenchmark
    budget: float
    screen: LaunchEffect | None  # None: too few usable rounds
    launches: tuple[LaunchEffect, ...] = ()  # without the screen

    @property
    def slow(self) -> float:
        """The budget, as a logarithm."""
        return math.log1p(self.budget)

    def null(self, rules: GateRules) -> float:
        """Return the tolerated effect as a logarithm: at most half of the budget, lest a test ask for more than it."""
        return math.log1p(min(rules.tolerated, self.budget / 2))


def effects_of(benchmark: GateBenchmark, rounds: Iterable[Rounds], rules: GateRules) -> Effects:
    """Compute the effects of one benchmark's launches from its rounds."""
    mine = sorted((part for part in rounds if part.benchmark == benchmark.name), key=lambda part: part.launch)
    effects = {part.launch: effect(part, benchmark.threads) for part in mine}
    screen = effects.pop(SCREEN, None)
    usable = tuple(found for found in effects.values() if found is not None)
    return Effects(benchmark, rules.budget if benchmark.budget is None else benchmark.budget, screen, usable)


def suspect(one: Effects, rules: GateRules) -> bool:
    """Whether the screen asks for more launches.

    It does in three cases: the head looks slower by more than ``rules.screen`` (or a smaller budget); the noise of the
    rounds could hide a slowdown beyond the budget; the head looks faster by more than the budget. Smaller improvements
    get no launches, since they fail nothing and a gate has to be quick.
    """
    if one.screen is None:
        return False
    threshold = min(math.log1p(rules.screen), one.slow)
    highest = one.screen.log + DOUBT * one.screen.error
    return one.screen.log > threshold or one.screen.log < -one.slow or highest > one.slow


def as_escalated(one: Effects, rules: GateRules) -> Effects:
    """Drop the launches where the screen asks for none: a gate would not have made them."""
    return one if suspect(one, rules) else replace(one, launches=())
