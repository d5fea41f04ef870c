"""The rule on times, in words: what is said of every benchmark."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from pyharness.features.gate.judging.effects import Effects, suspect
from pyharness.features.gate.judging.looks import Decision, Way, decisions, fewest, last_level
from pyharness.features.gate.judging.wording import between, change, percent, relative, several
from pyharness.features.gate.types import GateRules, GateVerdict, Judgement
from pyharness.statistics.trimmed import trimmed_interval, trimmed_mean

WIDE = 2.0  # standard errors that make 95 %, as far as rounds can know


def judge_times(measured: Sequence[Effects], rules: GateRules) -> list[Judgement]:
    """Judgements in the order given. The screen only chooses: it is no part of a test, which so keeps its level.

    What has launches is tested, whatever they were made for: they know more than the screen does.
    """
    found = zip(measured, decisions(measured, rules), strict=True)
    return [_untested(one, rules) if seen is None else _decided(one, seen, rules) for one, seen in found]


def _untested(one: Effects, rules: GateRules) -> Judgement:
    """What the screen says, unless it asked for launches, or some that memory asked for look slower than the budget."""
    logs = [launch.log for launch in one.launches]
    slower = bool(logs) and trimmed_mean(logs) > one.slow
    return _cut_off(one, logs, rules) if suspect(one, rules) or slower else _screened(one)


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


def unjudged(one: Effects) -> Judgement:
    """Only the figures, of all launches there are: of a control."""
    logs = [launch.log for launch in one.launches]
    return _figures(one, logs, trimmed_interval(logs)) if logs else _screened(one)


def _decided(one: Effects, seen: Decision, rules: GateRules) -> Judgement:
    logs = [launch.log for launch in one.launches[: seen.launches]]
    verdict, words = _verdict(one, seen, rules)
    found = _figures(one, logs, seen.interval)
    p = seen.p_slower if seen.effect >= 0 else seen.p_faster
    return replace(found, verdict=verdict, p=p, reason=found.reason + words)


def _figures(one: Effects, logs: Sequence[float], interval: tuple[float, float] | None) -> Judgement:
    """What launches show, with a verdict that is yet to be found."""
    effect, shown = relative(trimmed_mean(logs)), interval and (relative(interval[0]), relative(interval[1]))
    seen = f"{change(effect, 'time')}{between(shown)} in {several(len(logs), 'launch')}"
    return Judgement(
        one.benchmark.name, "time", GateVerdict.PASS, effect=effect, interval=shown, budget=one.budget,
        launches=len(logs), noise=statistics.stdev(logs) if len(logs) > 1 else None,
        reason=f"{seen}, budget {percent(one.budget)}",
    )  # fmt: skip


def _verdict(one: Effects, seen: Decision, rules: GateRules) -> tuple[GateVerdict, str]:
    """Verdict, and what is to be said of it behind the figures."""
    large = "" if seen.p_slower is not None else "; so large in the screen and in each launch that it needs no test"
    if seen.way is Way.SLOWER:
        return GateVerdict.REGRESSION, large
    if seen.way is Way.FASTER:
        return GateVerdict.IMPROVEMENT, large
    if seen.way is Way.NEITHER:
        return GateVerdict.PASS, "; ended early, as no slowdown came again"
    verdict, words = _unproven(one, seen, rules)
    if seen.launches < rules.launches and suspect(one, rules):
        words += f"; the time ran out before {several(rules.launches, 'launch')}"
        verdict = GateVerdict.INCONCLUSIVE
    return verdict, words


def _unproven(one: Effects, seen: Decision, rules: GateRules) -> tuple[GateVerdict, str]:
    if seen.effect > one.slow:
        words = f"; not proven: p = {seen.p_slower:.2g}, {last_level(rules):.2g} is needed"
        return GateVerdict.INCONCLUSIVE, words
    low, high = seen.interval or (seen.effect, seen.effect)
    wide = high > one.slow and high - low > 2 * one.slow
    return (GateVerdict.INCONCLUSIVE, "; launches differ too much to tell") if wide else (GateVerdict.PASS, "")


def _cut_off(one: Effects, logs: Sequence[float], rules: GateRules) -> Judgement:
    known = logs or ([one.screen.log] if one.screen else [])
    seen = relative(trimmed_mean(known))
    where = f"in {several(len(logs), 'launch')}" if logs else "in the screen"
    few = f" before {several(fewest(rules), 'launch')}: fewer prove nothing" if logs else ""
    reason = (
        f"{change(seen, 'time')} {where}, budget {percent(one.budget)}; "
        f"the screen asked for more launches, and the time ran out{few}"
    )
    return Judgement(
        one.benchmark.name, "time", GateVerdict.INCONCLUSIVE,
        effect=seen, budget=one.budget, launches=len(logs), reason=reason,
    )  # fmt: skip
