"""The rule on times: interim looks at a gate's launches, and the verdict on every benchmark.

Clear benchmarks end early, so that the time goes to close ones: a gate looks after 2, 3, 5 and 7 launches, and after
the last. The decisions at each look were chosen by simulation (``studies/gate_rule.py``), which runs this code:
docs/gate.md "How often the rule errs, simulated".

The statistic is a trimmed t over launches, for estimate, interval and p: one launch in ten cannot spoil it.

Of every eight values, one is cut off at each end (Tukey and McLaughlin 1963; the one-sample case of Yuen 1974). It
was chosen among others by simulation in ``studies/gate_rule.py``: docs/gate.md "Which statistic".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from pyharness.features.gate.types import GateRules, GateVerdict, Judgement
from pyharness.features.gate.verdicts.effects import Effects, suspect
from pyharness.features.gate.verdicts.hypotheses import holm, t_survival
from pyharness.features.gate.verdicts.wording import between, change, percent, relative
from pyharness.statistics.jackknife import t_quantile
from pyharness.statistics.samples import median
from pyharness.types import counted

EARLY = (2, 3, 5, 7)  # numbers of launches at the looks before the last
FEWEST_LAUNCHES = 5  # of a test: if processes have one of two layouts, three equal draws look like a change
SPENT: Mapping[int, float] = {5: 0.16, 7: 0.4}  # share of the level for the test at this look,
SPENT_AT_LAST = 0.86  # and at the last: three tests at the full level would exceed it
# A slowdown above this in the screen and in two launches needs no test. At 20 %, two layouts of processes that are
# 25 % apart gave a false alarm in 60 of 5,100 comparisons; at 50 % in 4, as many as without this shortcut.
LARGE = 0.5


class Way(Enum):
    """Direction of a benchmark, by its launches."""

    SLOWER = "slower"  # proven, and by more than the budget
    FASTER = "faster"
    NEITHER = "neither"  # clear before the last look: needs no further launches
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on a benchmark, by its first ``launches`` launches."""

    way: Way
    launches: int
    early: bool  # at a look before the last: later launches do not count
    effect: float  # trimmed mean of launches, as a logarithm
    interval: tuple[float, float] | None
    p_slower: float | None = None  # adjusted (Holm); None: no test was done
    p_faster: float | None = None


def looks(rules: GateRules) -> tuple[int, ...]:
    """Return the numbers of launches at the looks before the last; none where all launches are made anyway."""
    return () if rules.fixed else tuple(count for count in EARLY if count < rules.launches)


def fewest(rules: GateRules) -> int:
    """Return the smallest number of launches for a test."""
    return max(1, min(FEWEST_LAUNCHES, rules.launches))


def last_level(rules: GateRules) -> float:
    """Return the level of the last test: earlier looks have spent a part."""
    return rules.level * (SPENT_AT_LAST if SPENT.keys() & set(looks(rules)) else 1.0)


def still_open(measured: Sequence[Effects], rules: GateRules) -> list[bool]:
    """Whether each benchmark needs another launch: the screen suspects it, and no look has decided."""
    return [
        suspect(one, rules) and len(one.launches) < rules.launches and not (decision is not None and decision.early)
        for one, decision in zip(measured, decisions(measured, rules), strict=True)
    ]


def decisions(measured: Sequence[Effects], rules: GateRules) -> list[Decision | None]:
    """Decide each benchmark at the first conclusive look, else by all its launches; None with too few of them.

    The test covers suspects of the screen, and benchmarks with enough launches for another reason. All share the level
    at each look: a rejected null leaves its share to the others, a benchmark that ended otherwise does not.
    """
    family = {
        place: one for place, one in enumerate(measured) if suspect(one, rules) or len(one.launches) >= fewest(rules)
    }
    decided: dict[int, Decision] = {}
    for count in looks(rules):
        level = rules.level * SPENT.get(count, 0.0)
        seen = _decide_at_look(family, decided, rules, count, level)
        decided |= {place: one for place, one in seen.items() if one.way is not Way.OPEN}
    decided |= _decide_at_look(family, decided, rules, None, last_level(rules))
    return [decided.get(place) for place in range(len(measured))]


def _decide_at_look(
    family: Mapping[int, Effects], decided: Mapping[int, Decision], rules: GateRules, count: int | None, level: float
) -> dict[int, Decision]:
    """Look at the first ``count`` launches of undecided benchmarks with so many; None: all, if enough for a test."""
    logs = {
        place: [launch.log for launch in one.launches[:count]]
        for place, one in family.items()
        if place not in decided and len(one.launches) >= (count or fewest(rules))
    }
    slower = _adjust_p_values(family, decided, logs, Way.SLOWER, rules) if level else {}
    faster = _adjust_p_values(family, decided, logs, Way.FASTER, rules) if level else {}
    looked = {}
    for place, mine in logs.items():
        one, middle = family[place], trimmed_mean(mine)
        p = slower.get(place), faster.get(place)
        way = _way(one, middle, p, level)
        if way is Way.OPEN and count is not None:
            way = _large(one, mine) if count == EARLY[0] else way
            way = Way.NEITHER if way is Way.OPEN and _clear(one, mine) else way
        looked[place] = Decision(way, len(mine), count is not None, middle, trimmed_interval(mine), *p)
    return looked


def _adjust_p_values(
    family: Mapping[int, Effects],
    decided: Mapping[int, Decision],
    logs: Mapping[int, Sequence[float]],
    way: Way,
    rules: GateRules,
) -> dict[int, float]:
    """Return p values of one direction by place, adjusted (Holm) over the whole family."""
    sign = 1 if way is Way.SLOWER else -1
    values = []
    for place, one in family.items():
        if place in logs:
            values.append(p_greater([sign * log for log in logs[place]], one.null(rules)))
        else:
            values.append(float(place not in decided or decided[place].way is not way))
    return dict(zip(family, holm(values), strict=True))


def _way(one: Effects, middle: float, p: tuple[float | None, float | None], level: float) -> Way:
    slower, faster = (value is not None and value < level for value in p)
    if slower and middle > one.slow:
        return Way.SLOWER
    return Way.FASTER if faster and middle < -one.slow else Way.OPEN


def _large(one: Effects, logs: Sequence[float]) -> Way:
    """Return the direction of an effect beyond ``LARGE`` and two budgets in the screen and in each launch."""
    large = max(math.log1p(LARGE), 2 * one.slow)
    seen = [*([one.screen.log] if one.screen else []), *logs]
    if min(seen) > large:
        return Way.SLOWER
    return Way.FASTER if max(seen) < -large else Way.OPEN


def _clear(one: Effects, logs: Sequence[float]) -> bool:
    """Whether launches stay within half of the budget (both of two, or the median of more) and are not much faster."""
    middle = median(logs)
    kept = max(logs) if len(logs) == EARLY[0] else middle
    return kept <= math.log1p(one.budget / 2) and middle >= -one.slow


WIDE = 2.0  # standard errors of a 95 % interval, as far as rounds show it


def judge_times(measured: Sequence[Effects], rules: GateRules) -> list[Judgement]:
    """Judge benchmarks, in the order given.

    The screen selects, and judges what it did not select. It enters no test, so tests keep their level. A benchmark
    with enough launches for a test is judged by them, whatever their reason: they show more than the screen.
    """
    pairs = zip(measured, decisions(measured, rules), strict=True)
    return [_judge_untested(one, rules) if seen is None else _judge_decided(one, seen, rules) for one, seen in pairs]


def _judge_untested(one: Effects, rules: GateRules) -> Judgement:
    """Judge by the screen; inconclusive if it asked for launches, or those for memory look slower than the budget."""
    logs, why = [launch.log for launch in one.launches], []
    if suspect(one, rules):
        why.append("the screen asked for more launches, and the time ran out")
    if logs and (why or trimmed_mean(logs) > one.slow):
        why.append(f"fewer than {counted(fewest(rules), 'launch')} are not tested")
    if not why:
        return _judge_screened(one)
    seen = relative(trimmed_mean(logs or ([one.screen.log] if one.screen else [])))
    where = f"in {counted(len(logs), 'launch')}" if logs else "in the screen"
    return Judgement(
        one.benchmark.name, "time", GateVerdict.INCONCLUSIVE, effect=seen, budget=one.budget, launches=len(logs),
        reason=f"{change(seen, 'time')} {where}, budget {percent(one.budget)}; {'; '.join(why)}",
    )  # fmt: skip


def _judge_screened(one: Effects) -> Judgement:
    if (screen := one.screen) is None:
        reason = "fewer than 4 rounds have two positive times: the clock stands still or goes backwards"
        return Judgement(one.benchmark.name, "time", GateVerdict.INCOMPARABLE, budget=one.budget, reason=reason)
    seen, half = relative(screen.log), WIDE * screen.error
    interval = relative(screen.log - half), relative(screen.log + half)
    reason = (
        f"{change(seen, 'time')}{between(seen, interval)} in the screen, within the budget of {percent(one.budget)}"
    )
    return Judgement(
        one.benchmark.name, "time", GateVerdict.PASS, effect=seen, interval=interval, budget=one.budget, reason=reason
    )


def unjudged(one: Effects) -> Judgement:
    """Return a control's figures: of all its launches after the screen, or without any, of the screen."""
    logs = [launch.log for launch in one.launches]
    return _figures(one, logs, trimmed_interval(logs)) if logs else _judge_screened(one)


def _judge_decided(one: Effects, seen: Decision, rules: GateRules) -> Judgement:
    logs = [launch.log for launch in one.launches[: seen.launches]]
    verdict, words = _verdict(one, seen, rules)
    judgement = _figures(one, logs, seen.interval)
    p = seen.p_slower if seen.effect >= 0 else seen.p_faster
    return replace(judgement, verdict=verdict, p=p, reason=judgement.reason + words)


def _figures(one: Effects, logs: Sequence[float], interval: tuple[float, float] | None) -> Judgement:
    """Return the figures of launches, with a provisional verdict."""
    effect, shown = relative(trimmed_mean(logs)), interval and (relative(interval[0]), relative(interval[1]))
    seen = f"{change(effect, 'time')}{between(effect, shown)} in {counted(len(logs), 'launch')}"
    return Judgement(
        one.benchmark.name, "time", GateVerdict.PASS, effect=effect, interval=shown, budget=one.budget,
        launches=len(logs), noise=statistics.stdev(logs) if len(logs) > 1 else None,
        reason=f"{seen}, budget {percent(one.budget)}",
    )  # fmt: skip


def _verdict(one: Effects, seen: Decision, rules: GateRules) -> tuple[GateVerdict, str]:
    """Return the verdict, and the words after the figures."""
    large = "" if seen.p_slower is not None else "; too large in the screen and in each launch to need a test"
    if seen.way is Way.SLOWER:
        return GateVerdict.REGRESSION, large
    if seen.way is Way.FASTER:
        return GateVerdict.IMPROVEMENT, large
    if seen.way is Way.NEITHER:
        return GateVerdict.PASS, "; ended early, within half of the budget"
    verdict, words = _judge_unproven(one, seen, rules)
    if seen.launches < rules.launches and suspect(one, rules):
        words += f"; the time ran out before {counted(rules.launches, 'launch')}"
        verdict = GateVerdict.INCONCLUSIVE
    return verdict, words


def _judge_unproven(one: Effects, seen: Decision, rules: GateRules) -> tuple[GateVerdict, str]:
    if seen.effect > one.slow:
        words = f"; not significant: p = {seen.p_slower:.2g}, above {last_level(rules):.2g}"
        return GateVerdict.INCONCLUSIVE, words
    low, high = seen.interval or (seen.effect, seen.effect)
    wide = high > one.slow and high - low > 2 * one.slow
    return (GateVerdict.INCONCLUSIVE, "; the CI is too wide") if wide else (GateVerdict.PASS, "")


SPREAD_OF_NOTHING = 1e-9  # of logarithms of times: no clock resolves a billionth
CUT = 8  # of so many values, one is cut off at each end; if of fewer, the p of the rest would be too small


def trimmed_mean(values: Sequence[float]) -> float:
    """Return the mean without one value per eight at each end; below eight values, the plain mean."""
    cut = len(values) // CUT
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def _error(values: Sequence[float]) -> tuple[float, int]:
    """Return the standard error of ``trimmed_mean`` (winsorised) and its degrees of freedom; for two values or more."""
    count, cut = len(values), len(values) // CUT
    kept = sorted(values)[cut : count - cut]
    squares = statistics.variance([kept[0]] * cut + kept + [kept[-1]] * cut) * (count - 1)
    return math.sqrt(squares / (len(kept) * (len(kept) - 1))), len(kept) - 1


def p_greater(values: Sequence[float], null: float) -> float:
    """Return the one-sided p of "the trimmed mean is at most ``null``".

    Below two values p is 1. Values without spread (of a coarse clock) would have p = 0, which a few values cannot
    prove: they get the p of their signs, 2^-n where all are above ``null``.
    """
    if len(values) < 2:
        return 1.0
    error, freedom = _error(values)
    if error <= SPREAD_OF_NOTHING:
        above = sum(value - null > SPREAD_OF_NOTHING for value in values)
        return math.ldexp(sum(math.comb(len(values), k) for k in range(above, len(values) + 1)), -len(values))
    return t_survival((trimmed_mean(values) - null) / error, freedom)


def trimmed_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the trimmed mean; None below two values."""
    if len(values) < 2:
        return None
    middle, (error, freedom) = trimmed_mean(values), _error(values)
    half = t_quantile(freedom) * error
    return middle - half, middle + half
