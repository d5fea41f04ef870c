"""From rounds to judgements, and from judgements to the verdict of a gate.

Memory and instructions are nearly equal in every launch and need no test. "Nearly", because a process's growth also
depends on chance: a single launch may differ from the others.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from pyharness.features.gate.types import (
    SCREEN,
    SIDES,
    Figure,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Rounds,
    SelfTest,
    Side,
    Waiver,
)
from pyharness.features.gate.verdicts import waivers as declared
from pyharness.features.gate.verdicts.effects import call_seconds, effects_of
from pyharness.features.gate.verdicts.self_test import open_controls
from pyharness.features.gate.verdicts.times import judge_times, still_open, unjudged
from pyharness.features.gate.verdicts.wording import BETTER, WORSE, change, megabytes, percent
from pyharness.statistics.samples import median
from pyharness.types import counted


@dataclass(frozen=True, slots=True)
class Allowance:
    """Allowed growth of a figure."""

    share: float
    least: int  # growth that is always allowed
    launches: int  # number that must agree


ALLOWED: Mapping[Figure, Allowance] = {
    "memory": Allowance(0.05, 1 << 20, 2),  # pages come in pools: a process may take a megabyte by chance
    "instructions": Allowance(0.01, 0, 1),  # 30 pairs of identical code all differed by less
}


AGREE = 0.8  # share of launches that must show a change: 9 of 11


def pairs(rounds: Iterable[Rounds], figure: Figure) -> list[Mapping[Side, int]]:
    """Return the values of launches that have both sides."""
    by_launch = [part.memory if figure == "memory" else part.instructions for part in rounds]
    return [values for values in by_launch if all(side in values for side in SIDES)]


def grows(values: Mapping[Side, int], figure: Figure, more: Side = "head") -> bool:
    """Whether one side exceeds the other by more than the allowance."""
    allowed, less = ALLOWED[figure], values["base" if more == "head" else "head"]
    return values[more] > less * (1 + allowed.share) and values[more] - less > allowed.least


def judge_counts(benchmark: str, figure: Figure, rounds: Sequence[Rounds]) -> Judgement | None:
    """Judge a benchmark's memory or instructions; None where no launch has them."""
    if not (by_launch := pairs(rounds, figure)):
        return None
    verdict, words = _decision(by_launch, figure)
    values = {side: median([one[side] for one in by_launch]) for side in SIDES}
    effects = [_relative(one) for one in by_launch]
    numbers = [effect for effect in effects if effect is not None]
    effect = median(numbers) if len(numbers) == len(by_launch) else None
    what = "growth from nothing" if effect is None else change(effect, figure)
    seen = f"{what} in {counted(len(by_launch), 'launch')}"
    if figure == "memory":
        seen += f" ({megabytes(values)})"
    budget = ALLOWED[figure].share
    reason = f"{seen}, budget {percent(budget)}{words}"
    return Judgement(
        benchmark,
        figure,
        verdict,
        effect=effect,
        budget=budget,
        launches=len(by_launch) - 1,
        values=values,
        reason=reason,
    )


def _relative(values: Mapping[Side, int]) -> float | None:
    """Return head / base - 1; None for growth from 0."""
    if values["base"] <= 0:
        return None if values["head"] > 0 else 0.0
    return values["head"] / values["base"] - 1


def _decision(by_launch: Sequence[Mapping[Side, int]], figure: Figure) -> tuple[GateVerdict, str]:
    worse, better = (sum(grows(one, figure, side) for one in by_launch) for side in ("head", "base"))
    needed = max(AGREE * len(by_launch), ALLOWED[figure].launches)
    word = WORSE[figure] if worse >= better else BETTER[figure]
    words = f"; {word} in {max(worse, better)} of {counted(len(by_launch), 'launch')}"
    if worse >= needed:
        return GateVerdict.REGRESSION, words if worse < len(by_launch) else ""
    if better >= needed:
        return GateVerdict.IMPROVEMENT, words if better < len(by_launch) else ""
    if worse == len(by_launch):
        return GateVerdict.INCONCLUSIVE, "; one launch is not enough, and the time ran out"
    if 2 * worse > len(by_launch):  # the median launch is beyond the limit
        return GateVerdict.INCONCLUSIVE, f"{words}: too many to pass, too few to be significant"
    alone = better == len(by_launch)  # too few launches to prove it; the effect already shows it
    return GateVerdict.PASS, f"{words} only" if (worse or better) and not alone else ""


LATE = "not measured: the time ran out"
Refusals = Mapping[str, tuple[GateVerdict, str]]  # benchmark -> FAILED, INCOMPARABLE or INCONCLUSIVE, and the reason


def escalated(
    rounds: Sequence[Rounds], benchmarks: Sequence[GateBenchmark], rules: GateRules, under_test: str = ""
) -> tuple[str, ...]:
    """Return the benchmarks that need one more launch, slowest first: time may run out during one.

    After the screen these are its suspects and those whose memory grew; after further launches, the benchmarks still
    open. Controls (of another library than ``under_test``) come last, as long as they are not calm: their effects in
    the same launches separate a change of the code from a difference of the arms. After the first further launch they
    may continue alone. Under fixed rules, all measured benchmarks, in the order of the suite.
    """
    if rules.fixed:
        seen = Counter(part.benchmark for part in rounds)
        return tuple(one.name for one in benchmarks if 0 < seen[one.name] <= rules.launches)
    effects = {one.name: effects_of(one, rounds, rules) for one in benchmarks}
    own = [one for one in benchmarks if not one.is_control(under_test)]
    times = zip(own, still_open([effects[one.name] for one in own], rules), strict=True)
    wanted = [one.name for one, is_open in times if is_open or _memory_is_open(one, rounds, rules)]
    begun = max((part.launch for part in rounds), default=SCREEN) > SCREEN
    controls = open_controls(rounds, benchmarks, rules, under_test) if wanted or begun else ()
    slowness = {name: one.screen.log if one.screen is not None else 0.0 for name, one in effects.items()}
    return (*sorted(wanted, key=slowness.__getitem__, reverse=True), *controls)


def _memory_is_open(benchmark: GateBenchmark, rounds: Sequence[Rounds], rules: GateRules) -> bool:
    """Whether launches are left and memory grew in at least half: chance does that once, a change mostly."""
    by_launch = pairs([part for part in rounds if part.benchmark == benchmark.name], "memory")
    grown = sum(grows(values, "memory") for values in by_launch)
    return len(by_launch) <= rules.launches and 0 < len(by_launch) <= 2 * grown


def judge(
    benchmarks: Sequence[GateBenchmark],
    rounds: Sequence[Rounds],
    rules: GateRules,
    waivers: Sequence[Waiver] = (),
    today: date | None = None,
    refusals: Refusals | None = None,
    under_test: str = "",
) -> tuple[Judgement, ...]:
    """Judge every figure of every benchmark, in the order of the suite, time first.

    ``refusals``: benchmarks that could not be compared, with verdict and reason. A benchmark with neither rounds nor a
    refusal was not reached in time. ``today`` (default: the present date) decides on waivers. Controls (of another
    library than ``under_test``) only show their figures: with figures they pass, and take no share of the test's level.
    """
    refusals, measured = refusals or {}, {part.benchmark for part in rounds}
    compared = [one for one in benchmarks if one.name in measured and one.name not in refusals]
    own = [effects_of(one, rounds, rules) for one in compared if not one.is_control(under_test)]
    alone = [effects_of(one, rounds, rules) for one in compared if one.is_control(under_test)]
    times = {judgement.benchmark: judgement for judgement in (*judge_times(own, rules), *map(unjudged, alone))}
    judgements: list[Judgement] = []
    for one in benchmarks:
        if (time := times.get(one.name)) is None:
            verdict, reason = refusals.get(one.name, (GateVerdict.INCONCLUSIVE, LATE))
            judgements.append(Judgement(one.name, "time", verdict, budget=one.budget, reason=reason))
            continue
        mine = [part for part in rounds if part.benchmark == one.name]
        time = dataclasses.replace(time, values=_seconds(one, mine))
        counts = [
            judgement for figure in ("memory", "instructions") if (judgement := judge_counts(one.name, figure, mine))
        ]
        if one.is_control(under_test):
            judgements += [_as_control(judgement, one.library) for judgement in (time, *counts)]
        else:
            judgements += _with_disagreement([time, *counts])
    return declared.applied(judgements, waivers, today or date.today())


def _as_control(judgement: Judgement, library: str) -> Judgement:
    """Only show the figures: a control's effect is noise, or a fault of the arms that the self-test finds."""
    if judgement.verdict is GateVerdict.INCOMPARABLE:  # it has no figures
        return judgement
    reason = f"control, as {library} is not under test: {judgement.reason}"
    return dataclasses.replace(judgement, verdict=GateVerdict.PASS, p=None, reason=reason)


def _seconds(benchmark: GateBenchmark, rounds: Sequence[Rounds]) -> dict[Side, float]:
    """Return each side's seconds per call: the median over the rounds of all launches."""
    calls: dict[Side, list[float]] = {side: call_seconds(rounds, side, benchmark.threads) for side in SIDES}
    return {side: median(values) for side, values in calls.items() if values}


def _with_disagreement(judgements: list[Judgement]) -> list[Judgement]:
    """Add a note where time and instructions disagree: each misses some costs."""
    by_figure = {judgement.figure: judgement for judgement in judgements}
    time, counted = by_figure["time"], by_figure.get("instructions")
    sides = (GateVerdict.REGRESSION, GateVerdict.IMPROVEMENT)
    if counted is None or time.verdict == counted.verdict or not {time.verdict, counted.verdict} & set(sides):
        return judgements
    if time.effect is None or counted.effect is None:
        return judgements
    words = {
        "time": f"; instructions disagree: {change(counted.effect, 'instructions')}",
        "instructions": f"; time disagrees: {change(time.effect, 'time')}",
    }
    return [dataclasses.replace(one, reason=one.reason + words.get(one.figure, "")) for one in judgements]


def overall(judgements: Sequence[Judgement], self_test: SelfTest) -> GateVerdict:
    """Return the verdict of a gate.

    Faults of the self-test make the gate incomparable. A gate that compared nothing is failed if a benchmark failed,
    else incomparable. Next, a regression outranks a failure: it stands whatever else could not be measured, and both
    exit with a code other than 0. A pass by waiver is a pass. Faults of ``gate.toml`` change the exit code and not the
    verdict.
    """
    if self_test.faults:
        return GateVerdict.INCOMPARABLE
    verdicts = {judgement.verdict for judgement in judgements}
    if not any(judgement.effect is not None for judgement in judgements):
        return GateVerdict.FAILED if GateVerdict.FAILED in verdicts else GateVerdict.INCOMPARABLE
    order = (
        GateVerdict.REGRESSION,
        GateVerdict.FAILED,
        GateVerdict.INCOMPARABLE,
        GateVerdict.INCONCLUSIVE,
        GateVerdict.IMPROVEMENT,
    )
    return next((verdict for verdict in order if verdict in verdicts), GateVerdict.PASS)
