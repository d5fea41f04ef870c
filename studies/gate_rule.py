"""How often the gate's rule errs, and how many launches it takes: ``python studies/gate_rule.py [--gates N]``.

Gates of ten benchmarks are drawn: half of them of identical code, half with three that are slower, by 1 to 500 %. They
come from made-up machines (every launch shifts each benchmark by chance and all of them a little together, rounds drift
and stumble, whoever goes second is slower), and from the launches of real gates of identical code, which are drawn
again with replacement (``studies/results/gate_trials.jsonl.gz``). The judges are the gate's own. docs/gate.md "How
often the rule errs, simulated" has the tables that it prints, and "Which statistic" what they were made for; ``--all``
prints more rules.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import gate_trials
from gate_statistics import BIWEIGHT, STUDENT, TRIMMED, WILCOXON, Statistic
from pyharness.features.gate.types import GateBenchmark, GateRules, GateVerdict, Judgement
from pyharness.features.gate.verdicts import times
from pyharness.features.gate.verdicts.effects import Effects, LaunchEffect, as_escalated, effect
from pyharness.features.gate.verdicts.hypotheses import rate_bound
from pyharness.features.gate.verdicts.times import judge_times, p_greater

SEED = 5
MOST_LAUNCHES = 12
ROUNDS = GateRules().rounds
THREE_TIMES = math.log(3)
SLOW_LAYOUTS = 0.3  # share of processes
MANY = 30  # benchmarks of larger gates
MACHINES_OF_MANY = ("quiet", "loaded", "one launch in ten", "recorded, one core")  # beginnings of names
# Of the first benchmarks of every second gate, in turn; the others are of identical code.
SLOWED = ((0.03, 0.05, 0.08), (0.01, 0.02, 0.20), (0.10, 0.50, 5.00), (0.02, 0.05, 0.08))
LEVELS = sorted({level for levels in SLOWED for level in levels})
AT_ONCE = 50  # gates drawn together

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Machine:
    """What a machine does to logarithms of times; standard deviations."""

    name: str
    launch: float = 0.0  # of a benchmark's effect, from launch to launch
    noise: float = 0.0  # of one timing
    tail: float = 0.0  # launches with the tail of Student's t of so many degrees of freedom, same scale as ``launch``
    together: float = 0.003  # of what a launch does to all benchmarks
    walk: float = 0.005  # of a step of the drift, per turn
    second: float = 0.0  # what going second in a round costs
    stumbles: float = 0.02  # share of turns in which something else runs, for 30 % of their time on average
    outliers: float = 0.0  # share of launches in which one of the two processes is three times as slow
    layouts: float = 0.0  # what a process with the slower of two layouts costs
    rounds: int = ROUNDS  # in a launch
    recorded: bool | None = None  # launches of real gates, with a core loaded or not, instead of all above but outliers
    wider: float = 1.0  # times as wide as they were recorded


MACHINES = (
    Machine("quiet", 0.007, 0.01),
    Machine("middling", 0.011, 0.02),
    Machine("noisy launches", 0.015, 0.02),
    Machine("heavy-tailed launches", 0.011 / math.sqrt(3), 0.02, tail=3),
    Machine("loaded: rounds of 5 %, many stumbles", 0.011, 0.05, stumbles=0.15, walk=0.02),
    Machine("second is 5 % slower", 0.011, 0.02, second=0.05),
    Machine("one launch in ten three times as slow", 0.011, 0.02, outliers=0.1),
    Machine("two layouts, 4 % apart", 0.003, 0.01, layouts=0.04),
    Machine("two layouts, 15 % apart", 0.003, 0.01, layouts=0.15),
    Machine("two layouts, 25 % apart", 0.003, 0.01, layouts=0.25),
    Machine("launches with the tail of Cauchy", 0.007, 0.02, tail=1),
    Machine("recorded, idle", recorded=False),
    Machine("recorded, one core loaded", recorded=True),
    Machine("recorded, twice as wide", recorded=True, wider=2.0),
    Machine("recorded, one launch in ten three times as slow", recorded=True, outliers=0.1),
)


def rounds(machine: Machine, shifts: Floats, lot: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Timings of benchmarks in launches: logarithms of base and head [..., round], and whether the head went first.

    ``shifts`` [...]: logarithms by which the head is slower. Orders are balanced, two by two.
    """
    count = machine.rounds
    first = np.repeat(lot.random((*shifts.shape, count // 2)) < 0.5, 2, axis=-1)
    first[..., 1::2] ^= True
    turns = (*shifts.shape, count, 2)  # by place in the round
    logs = np.cumsum(lot.normal(0, machine.walk, turns).reshape(*shifts.shape, -1), axis=-1).reshape(turns)
    logs += lot.normal(0, machine.noise, turns)
    logs += np.where(lot.random(turns) < machine.stumbles, lot.exponential(0.3, turns), 0.0)
    logs[..., 1] += machine.second
    head = np.where(first, logs[..., 0], logs[..., 1]) + shifts[..., None]
    return np.where(first, logs[..., 1], logs[..., 0]), head, first


def effects(base: Floats, head: Floats, first: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Logarithm and standard error of launches: ``launches.effect`` of arrays [..., round]."""
    logs = (head - base).reshape(*head.shape[:-1], -1, 2)
    pairs = first.reshape(logs.shape)
    parts = np.stack([np.where(pairs[..., 0] == way, logs[..., 0], logs[..., 1]) for way in (False, True)], axis=-2)
    middles = np.median(parts, axis=-1)
    apart = np.abs(parts - middles[..., None]).reshape(*head.shape)
    return middles.mean(axis=-1), 1.2533 * 1.4826 * np.median(apart, axis=-1) / math.sqrt(head.shape[-1])


def launch_shifts(machine: Machine, shape: tuple[int, ...], lot: np.random.Generator) -> Floats:
    """What launches do to benchmarks by chance."""
    drawn = lot.standard_t(machine.tail, shape) if machine.tail else lot.normal(0, 1, shape)
    odd = np.where(lot.random(shape) < machine.outliers, lot.choice([-THREE_TIMES, THREE_TIMES], shape), 0.0)
    slow = (lot.random((2, *shape)) < SLOW_LAYOUTS).astype(float)
    return np.asarray(machine.launch * drawn + odd + machine.layouts * (slow[0] - slow[1]))


@cache
def recorded(loaded: bool) -> tuple[Floats, ...]:
    """Launches of real gates of identical code, by benchmark: logarithm and error [launch, 2]."""
    pool: dict[str, list[tuple[float, float]]] = {}
    for trial in gate_trials.kept(gate_trials.RESULTS):
        for part in trial.gate.rounds if trial.loaded == loaded else ():
            if part.benchmark not in trial.planted and (found := effect(part)) is not None:
                pool.setdefault(part.benchmark, []).append((found.log, found.error))
    return tuple(np.array(pool[name]) for name in sorted(pool))


def gates(machine: Machine, slower: Floats, lot: np.random.Generator) -> tuple[Floats, Floats]:
    """Logarithm and error [gate, benchmark, launch] of screens, and of as many launches as any rule takes.

    ``slower`` [gate, benchmark]: logarithms of true slowdowns.
    """
    shape = (*slower.shape, MOST_LAUNCHES + 1)
    shifts = slower[..., None] + launch_shifts(machine, shape, lot)
    if machine.recorded is None:
        shifts = shifts + lot.normal(0, machine.together, (len(slower), 1, shape[-1]))
        return effects(*rounds(machine, shifts, lot))
    pool = recorded(machine.recorded)
    drawn = [lot.choice(pool[place % len(pool)], (len(slower), shape[-1])) for place in range(shape[1])]
    both = machine.wider * np.stack(drawn, axis=1)
    return shifts + both[..., 0], both[..., 1]


Gates = Sequence[tuple[Sequence[float], list[list[LaunchEffect]]]]


@dataclass(frozen=True)
class Variant:
    """A rule, or one of those that it replaces."""

    name: str
    rules: GateRules
    statistic: Statistic = TRIMMED
    early: Sequence[int] = times.EARLY  # launches after which it looks before the last
    one_launch: Callable[[LaunchEffect, GateRules, int], bool] | None = None  # decides of the screen alone


def by_rounds(screen: LaunchEffect, rules: GateRules, benchmarks: int) -> bool:
    """One launch, as if its rounds were independent: one-sided z test, Bonferroni."""
    z = (screen.log - math.log1p(rules.tolerated)) / max(screen.error, 1e-9)
    return math.erfc(z / math.sqrt(2)) / 2 * benchmarks < rules.level and screen.log > math.log1p(rules.budget)


def by_median(screen: LaunchEffect, rules: GateRules, benchmarks: int) -> bool:
    """One launch, and its median."""
    del benchmarks
    return screen.log > math.log1p(rules.budget)


def variants(budget: float, *, everything: bool = False) -> list[Variant]:
    """All that are compared at one budget: the rule, that without early looks, and more if asked for."""
    rules = GateRules(budget=budget)
    shown = [Variant("**the rule**", rules), Variant("ten launches, one look", rules, early=())]
    if not everything:
        return shown
    return [
        *shown,
        *(Variant(f"one look, {one.name}", rules, one, early=()) for one in (STUDENT, WILCOXON, BIWEIGHT)),
        *(Variant(f"one look, {count} launches", replace(rules, launches=count), early=()) for count in (5, 8, 12)),
        Variant("first look after 3", rules, early=(3, 5, 7)),
        Variant("screen 2 %", replace(rules, screen=0.02)),
        Variant("one launch, median", rules, one_launch=by_median),
        Variant("one launch, p of its rounds", rules, one_launch=by_rounds),
    ]


@dataclass
class Tally:
    """Counts over all gates of a machine."""

    more: int = 0  # benchmarks that got more launches
    launches: list[int] = field(default_factory=list)  # of benchmarks together, by gate of identical code
    longest: list[int] = field(default_factory=list)  # of these gates: the benchmark with most launches
    identical: int = 0  # gates of identical code
    red: int = 0  # of these
    intervals: int = 0  # of launches after the screen
    holding: int = 0  # of these, those that have the truth
    seen: Counter[tuple[float, GateVerdict]] = field(default_factory=Counter)  # by slowdown

    def count(self, slowdown: float) -> int:
        """Benchmarks with this slowdown."""
        return sum(seen for (slower, _), seen in self.seen.items() if slower == slowdown)

    def share(self, slowdown: float, verdict: GateVerdict) -> float:
        """Per cent of the benchmarks with this slowdown that had this verdict."""
        return 100 * self.seen[slowdown, verdict] / max(1, self.count(slowdown))

    def add(self, slowed: Sequence[float], found: Sequence[Judgement]) -> None:
        """Count one gate."""
        truth = [*slowed, *[0.0] * (len(found) - len(slowed))]
        if not slowed:
            self.identical += 1
            self.red += any(one.verdict is GateVerdict.REGRESSION for one in found)
            self.launches.append(sum(one.launches for one in found))
            self.longest.append(max(one.launches for one in found))
            self.more += sum(one.launches > 0 for one in found)
        for slower, one in zip(truth, found, strict=True):
            self.seen[slower, one.verdict] += 1
            if one.launches and one.interval is not None:
                self.intervals += 1
                self.holding += one.interval[0] <= slower <= one.interval[1]


def judged(variant: Variant, launches: list[list[LaunchEffect]]) -> list[Judgement]:
    """Judgements of one gate."""
    rules, decides = variant.rules, variant.one_launch
    if decides is not None:
        red = [decides(one[0], rules, len(launches)) for one in launches]
        return [Judgement("", "time", GateVerdict.REGRESSION if found else GateVerdict.PASS) for found in red]
    measured = [
        as_escalated(Effects(_benchmark(place), rules.budget, one[0], tuple(one[1 : rules.launches + 1])), rules)
        for place, one in enumerate(launches)
    ]
    one = variant.statistic
    names = {"EARLY": variant.early, "trimmed_mean": one.estimate, "trimmed_interval": one.interval, "p_greater": one.p}
    with patch.dict(vars(times), names):
        return judge_times(measured, rules)


@cache
def _benchmark(place: int) -> GateBenchmark:
    return GateBenchmark(f"b{place}", "encode", "ours")


def tally(variant: Variant, drawn: Gates) -> Tally:
    """Play one rule on all gates."""
    counts = Tally()
    for slowed, launches in drawn:
        counts.add(slowed, judged(variant, launches))
    return counts


def row(counts: Tally) -> str:
    """Cells of a table."""
    alarms = counts.seen[0.0, GateVerdict.REGRESSION]
    cells = [
        f"{alarms} of {counts.count(0.0)} (<= {100 * rate_bound(alarms, counts.count(0.0)):.2f})",
        f"{100 * counts.red / counts.identical:.1f}",
        *(f"{counts.share(slower, GateVerdict.REGRESSION):.0f}" for slower in LEVELS),
        f"{counts.share(0.0, GateVerdict.INCONCLUSIVE):.1f}",
        f"{100 * counts.holding / counts.intervals:.0f}" if counts.intervals else "",
        f"{counts.more / counts.identical:.1f}",
        f"{statistics.fmean(counts.launches):.1f}",
        f"{statistics.median(counts.longest):g}",
    ]
    return " | ".join(cells)


def level_of_looks(tail: float = 0.0, count: int = 20_000, rules: GateRules | None = None) -> float:
    """How often one of the tests rejects, where the head is slower by exactly what is tolerated; of one benchmark."""
    rules = rules or GateRules()
    tested = {look: share for look, share in times.SPENT.items() if look in times.looks(rules)}
    levels = {rules.launches: times.last_level(rules), **{look: rules.level * share for look, share in tested.items()}}
    logs = launch_shifts(Machine("", launch=1.0, tail=tail), (count, rules.launches), np.random.default_rng(SEED))
    found = (any(p_greater(row[:look], 0.0) < level for look, level in levels.items()) for row in logs.tolist())
    return sum(found) / count


HEAD = (
    "machine", "rule", "false alarms (<= %)", "gates", *(f"{100 * level:g} %" for level in LEVELS), "inconclusive",
    "interval", "chosen", "launches", "longest",
)  # fmt: skip


def drawn(machine: Machine, count: int, benchmarks: int) -> Iterator[tuple[Sequence[float], list[list[LaunchEffect]]]]:
    """Return gates of one machine: every second one of identical code."""
    lot = np.random.default_rng([SEED, benchmarks, *machine.name.encode()])
    for begin in range(0, count, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, count))
        slowed = [SLOWED[number // 2 % len(SLOWED)] if number % 2 else () for number in numbers]
        slower = np.array([[math.log1p(one) for one in (*part, *[0.0] * (benchmarks - len(part)))] for part in slowed])
        logs, errors = gates(machine, slower, lot)
        for part, log, error in zip(slowed, logs.tolist(), errors.tolist(), strict=True):
            yield (
                part,
                [
                    [LaunchEffect(one, wide, None) for one, wide in zip(ones, wides, strict=True)]
                    for ones, wides in zip(log, error, strict=True)
                ],
            )


def tables(
    count: int, machines: Sequence[Machine], benchmarks: int, budgets: Sequence[float], *, everything: bool = False
) -> Iterator[str]:
    """Lines of Markdown: a table for each budget, with all rules."""
    lines: dict[float, list[str]] = {budget: [] for budget in budgets}
    for machine in machines:
        played = list(drawn(machine, count, benchmarks))
        for budget in budgets:
            for variant in variants(budget, everything=everything):
                lines[budget].append(f"| {machine.name} | {variant.name} | {row(tally(variant, played))} |")
    for budget in budgets:
        yield f"\n{benchmarks} benchmarks, {count} gates a machine, budget {100 * budget:g} %\n"
        yield "| " + " | ".join(HEAD) + " |"
        yield "| :-- | :-- |" + " --: |" * (len(HEAD) - 2)
        yield from lines[budget]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.02, 0.03])
    parser.add_argument("--machine", default="", help="part of a name: only these")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="in a launch; long calls get fewer")
    parser.add_argument("--all", action="store_true", help="more rules")
    options = parser.parse_args()
    machines = [replace(one, rounds=options.rounds) for one in MACHINES if options.machine in one.name]
    for line in tables(options.gates, machines, 10, options.budgets, everything=options.all):
        print(line, flush=True)  # noqa: T201
    machines = [one for one in machines if one.name.startswith(MACHINES_OF_MANY)]
    for line in tables(options.gates // 3, machines, MANY, options.budgets[:1], everything=options.all):
        print(line, flush=True)  # noqa: T201
    level = GateRules().level
    for tail, launches in ((0.0, "normal launches"), (3.0, "launches with the tail of t, 3 degrees of freedom")):
        print(f"\nAll tests at a level of {level:g}, {launches}: {level_of_looks(tail):.3f}")  # noqa: T201


if __name__ == "__main__":
    main()
