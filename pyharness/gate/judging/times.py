"""The rule on times: who gets more launches after the screen, and what is said of everyone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyharness.gate.judging.wording import between, change, percent, relative, several
from pyharness.statistics.hypotheses import holm
from pyharness.statistics.launches import LaunchEffect, effect
from pyharness.statistics.trimmed import p_greater, trimmed_interval, trimmed_mean
from pyharness.types import SCREEN, GateBenchmark, GateRules, GateVerdict, Judgement, Rounds

FEWEST_LAUNCHES = 5  # where processes have one of two layouts, three that drew alike look like a change
DOUBT = 1.0  # standard errors by which a screen may be too low: with 2, a busy machine suspects everything
WIDE = 2.0  # that make 95 %, as far as rounds can know


@dataclass(frozen=True, slots=True)
class Effects:
    """One benchmark as it went: effects of its launches."""

    benchmark: GateBenchmark
    budget: float
    screen: LaunchEffect | None  # None: no usable round
    launches: tuple[LaunchEffect, ...] = ()  # without the screen


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
    slow = math.log1p(one.budget)
    threshold = min(math.log1p(rules.screen), slow)
    highest = one.screen.log + DOUBT * one.screen.error
    return one.screen.log > threshold or one.screen.log < -slow or highest > slow


def as_escalated(one: Effects, rules: GateRules) -> Effects:
    """Leave out launches that a gate would not have made, as its screen asks for none."""
    return one if suspect(one, rules) else replace(one, launches=())


def judge_times(measured: Sequence[Effects], rules: GateRules) -> list[Judgement]:
    """Judgements in the order given. The screen only chooses: it is no part of the test, which so keeps its level.

    What has launches is tested, whatever they were made for: they know more than the screen does.
    """
    chosen = [one for one in measured if suspect(one, rules) or len(one.launches) >= _fewest(rules)]
    slower = holm([p_greater([launch.log for launch in one.launches], _null(one, rules)) for one in chosen])
    faster = holm([p_greater([-launch.log for launch in one.launches], _null(one, rules)) for one in chosen])
    tested = {
        one.benchmark.name: _tested(one, p_slower, p_faster, rules)
        for one, p_slower, p_faster in zip(chosen, slower, faster, strict=True)
    }
    return [tested.get(one.benchmark.name) or _untested(one, rules) for one in measured]


def _untested(one: Effects, rules: GateRules) -> Judgement:
    """What the screen says, unless launches that memory asked for, too few to test, look slower than the budget."""
    logs = [launch.log for launch in one.launches]
    slower = bool(logs) and trimmed_mean(logs) > math.log1p(one.budget)
    return _cut_off(one, logs, rules) if slower else _screened(one)


def _fewest(rules: GateRules) -> int:
    return max(1, min(FEWEST_LAUNCHES, rules.launches))


def _null(one: Effects, rules: GateRules) -> float:
    """What is tolerated, in logarithms: at most half of the budget, or a test of it would ask for more than it."""
    return math.log1p(min(rules.tolerated, one.budget / 2))


def _screened(one: Effects) -> Judgement:
    if (screen := one.screen) is None:
        reason = "fewer than 4 rounds have two positive times: the clock stands still or goes backwards"
        return Judgement(one.benchmark.name, "time", GateVerdict.INCOMPARABLE, budget=one.budget, reason=reason)
    seen, half = relative(screen.log), WIDE * screen.error
    interval = relative(screen.log - half), relative(screen.log + half)
    reason = f"{change(seen, 'time')}{between(interval)} in the screen, within the budget of {percent(one.budget)}"
    return Judgement(
        one.benchmark.name, "time", GateVerdict.PASS, effect=seen, interval=interval, budget=one.budget, reason=reason
    )


def _tested(one: Effects, p_slower: float, p_faster: float, rules: GateRules) -> Judgement:
    logs = [launch.log for launch in one.launches]
    if len(logs) < _fewest(rules):
        return _cut_off(one, logs, rules)
    middle, interval = trimmed_mean(logs), trimmed_interval(logs)
    verdict, words = _decision(middle, interval, one.budget, p_slower, p_faster, rules)
    unproven = verdict in (GateVerdict.PASS, GateVerdict.INCONCLUSIVE)
    if unproven and len(logs) < rules.launches and suspect(one, rules):
        words += f"; the time ran out before {several(rules.launches, 'launch')}"
        verdict = GateVerdict.INCONCLUSIVE
    shown = None if interval is None else (relative(interval[0]), relative(interval[1]))
    seen = f"{change(relative(middle), 'time')}{between(shown)} in {several(len(logs), 'launch')}"
    return Judgement(
        one.benchmark.name, "time", verdict, effect=relative(middle), interval=shown,
        p=p_slower if middle >= 0 else p_faster, budget=one.budget, launches=len(logs),
        noise=statistics.stdev(logs) if len(logs) > 1 else None,
        reason=f"{seen}, budget {percent(one.budget)}{words}",
    )  # fmt: skip


def _decision(
    middle: float,
    interval: tuple[float, float] | None,
    budget: float,
    p_slower: float,
    p_faster: float,
    rules: GateRules,
) -> tuple[GateVerdict, str]:
    """Verdict, and what is to be said of it behind the figures; logarithms but for the budget."""
    slow = math.log1p(budget)
    if middle > slow:
        if p_slower < rules.level:
            return GateVerdict.REGRESSION, ""
        return GateVerdict.INCONCLUSIVE, f"; not proven: p = {p_slower:.2g}, {rules.level:g} is needed"
    if middle < -slow and p_faster < rules.level:
        return GateVerdict.IMPROVEMENT, ""
    if interval is not None and interval[1] > slow and interval[1] - interval[0] > 2 * slow:
        return GateVerdict.INCONCLUSIVE, "; launches differ too much to tell"
    return GateVerdict.PASS, ""


def _cut_off(one: Effects, logs: Sequence[float], rules: GateRules) -> Judgement:
    known = logs or ([one.screen.log] if one.screen else [])
    seen = relative(trimmed_mean(known))
    where = f"in {several(len(logs), 'launch')}" if logs else "in the screen"
    few = f" before {several(_fewest(rules), 'launch')}: fewer prove nothing" if logs else ""
    reason = (
        f"{change(seen, 'time')} {where}, budget {percent(one.budget)}; "
        f"the screen asked for more launches, and the time ran out{few}"
    )
    return Judgement(
        one.benchmark.name, "time", GateVerdict.INCONCLUSIVE,
        effect=seen, budget=one.budget, launches=len(logs), reason=reason,
    )  # fmt: skip
