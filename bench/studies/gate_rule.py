"""How often the gate's rule errs, on made-up machines: ``python bench/studies/gate_rule.py [--gates N]``.

Gates of ten benchmarks are drawn: half of them of identical code, half with three that are slower by 3, 5 and 10 % (or
by 1, 2 and 3 %). Every launch shifts each benchmark by chance and all of them a little together, rounds drift and
stumble, and whoever goes second is slower. The judges are the gate's own. docs/gate.md "How often the rule errs,
simulated" has the tables that it prints, and "Which statistic" what they were made for; ``--all`` prints more rules.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from unittest.mock import patch

from gate_statistics import BIWEIGHT, STUDENT, TRIMMED, WILCOXON, Statistic
from pyharness.gate.judging import times
from pyharness.gate.judging.times import Effects, as_escalated, suspect
from pyharness.statistics.hypotheses import rate_bound
from pyharness.statistics.launches import LaunchEffect, effect
from pyharness.types import GateBenchmark, GateRules, GateVerdict, Judgement, Rounds, Timing

SEED = 5
MOST_LAUNCHES = 12
ROUNDS = GateRules().rounds
THREE_TIMES = math.log(3)
SLOW_LAYOUTS = 0.3  # share of processes
MANY = 30  # benchmarks of larger gates
MACHINES_OF_MANY = ("quiet", "loaded", "one launch in ten")  # beginnings of names
SLOWED = ((), (0.03, 0.05, 0.10), (0.01, 0.02, 0.03))  # of the first benchmarks of a gate, in turn


@dataclass(frozen=True)
class Machine:
    """What a machine does to logarithms of times; standard deviations."""

    name: str
    launch: float  # of a benchmark's effect, from launch to launch
    noise: float  # of one timing
    heavy: bool = False  # launches with the tail of Student's t with 3 degrees of freedom, of the same deviation
    together: float = 0.003  # of what a launch does to all benchmarks
    walk: float = 0.005  # of a step of the drift, per turn
    second: float = 0.0  # what going second in a round costs
    stumbles: float = 0.02  # share of turns in which something else runs, for 30 % of their time on average
    outliers: float = 0.0  # share of launches in which one of the two processes is three times as slow
    layouts: float = 0.0  # what a process with the slower of two layouts costs
    rounds: int = ROUNDS  # in a launch


MACHINES = (
    Machine("quiet", 0.007, 0.01),
    Machine("middling", 0.011, 0.02),
    Machine("noisy launches", 0.015, 0.02),
    Machine("heavy-tailed launches", 0.011, 0.02, heavy=True),
    Machine("loaded: rounds of 5 %, many stumbles", 0.011, 0.05, stumbles=0.15, walk=0.02),
    Machine("second is 5 % slower", 0.011, 0.02, second=0.05),
    Machine("one launch in ten three times as slow", 0.011, 0.02, outliers=0.1),
    Machine("two layouts, 4 % apart", 0.003, 0.01, layouts=0.04),
)


def rounds(machine: Machine, shift: float, generator: random.Random) -> Rounds:
    """One benchmark in one launch, in balanced orders, two by two."""
    times: dict[bool, list[Timing]] = {False: [], True: []}
    first: list[bool] = []
    level = 0.0
    for number in range(machine.rounds):
        head_first = generator.random() < 0.5 if number % 2 == 0 else not first[-1]
        first.append(head_first)
        for place, is_head in enumerate((head_first, not head_first)):
            level += generator.gauss(0, machine.walk)
            log = level + generator.gauss(0, machine.noise) + shift * is_head + machine.second * place
            if generator.random() < machine.stumbles:
                log += generator.expovariate(1 / 0.3)
            nanoseconds = round(1e7 * math.exp(log))
            times[is_head].append(Timing(nanoseconds, nanoseconds))
    return Rounds("", 0, 1, tuple(times[False]), tuple(times[True]), tuple(first))


def launch_shift(machine: Machine, generator: random.Random) -> float:
    """What a launch does to one benchmark by chance."""
    shift = generator.gauss(0, machine.launch)
    if machine.heavy:
        chi = generator.gammavariate(1.5, 2)  # chi squared, 3 degrees of freedom
        shift /= math.sqrt(chi)  # variance 3 / (3 - 2) / 3: one
    if generator.random() < machine.outliers:
        shift += generator.choice((-THREE_TIMES, THREE_TIMES))
    if machine.layouts:
        shift += machine.layouts * ((generator.random() < SLOW_LAYOUTS) - (generator.random() < SLOW_LAYOUTS))
    return shift


def gate(
    machine: Machine, slowed: Sequence[float], generator: random.Random, benchmarks: int = 10
) -> list[list[LaunchEffect]]:
    """Effects [benchmark][launch] of the screen and of as many launches as any rule takes."""
    together = [generator.gauss(0, machine.together) for _ in range(MOST_LAUNCHES + 1)]
    slower = [math.log1p(share) for share in slowed] + [0.0] * (benchmarks - len(slowed))
    measured = [
        [effect(rounds(machine, log + common + launch_shift(machine, generator), generator)) for common in together]
        for log in slower
    ]
    return [[found for found in launches if found is not None] for launches in measured]


Gates = Sequence[tuple[Sequence[float], list[list[LaunchEffect]]]]


@dataclass(frozen=True)
class Variant:
    """A rule, or one of those that it replaces."""

    name: str
    rules: GateRules
    statistic: Statistic = TRIMMED
    with_screen: bool = False  # the screen is one of the launches that are tested
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
    """All that are compared at one budget: the rule, fewer launches, other statistics, and what the rule replaces."""
    rules = GateRules(budget=budget)
    shown = [
        Variant("**the rule: 10 launches, trimmed t**", rules),
        Variant(STUDENT.name, rules, STUDENT),
        Variant("5 launches", replace(rules, launches=5)),
        Variant("one launch, median", rules, one_launch=by_median),
    ]
    if not everything:
        return shown
    return [
        *shown,
        *(Variant(one.name, rules, one) for one in (WILCOXON, BIWEIGHT)),
        *(Variant(f"{count} launches", replace(rules, launches=count)) for count in (3, 4, 8, 12)),
        Variant("screen 2 %", replace(rules, screen=0.02)),
        Variant("9 launches and the screen", replace(rules, launches=9), with_screen=True),
        Variant("one launch, p of its rounds", rules, one_launch=by_rounds),
    ]


@dataclass
class Tally:
    """Counts over all gates of a machine."""

    gates: int = 0
    more: int = 0  # benchmarks that got more launches
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
        return 100 * self.seen[slowdown, verdict] / self.count(slowdown)

    def add(self, slowed: Sequence[float], found: Sequence[Judgement]) -> None:
        """Count one gate."""
        truth = [*slowed, *[0.0] * (len(found) - len(slowed))]
        self.gates += 1
        self.identical += not slowed
        self.red += not slowed and any(one.verdict is GateVerdict.REGRESSION for one in found)
        for slower, one in zip(truth, found, strict=True):
            self.seen[slower, one.verdict] += 1
            if one.launches and one.interval is not None:
                self.intervals += 1
                self.holding += one.interval[0] <= slower <= one.interval[1]


def judged(variant: Variant, launches: list[list[LaunchEffect]]) -> tuple[list[Judgement], int]:
    """Judgements of one gate, and how many benchmarks got more launches."""
    benchmarks = [GateBenchmark(f"b{number}", "encode", "ours") for number in range(len(launches))]
    rules, decides = variant.rules, variant.one_launch
    if decides is not None:
        red = [decides(one[0], rules, len(launches)) for one in launches]
        verdicts = [GateVerdict.REGRESSION if found else GateVerdict.PASS for found in red]
        return [Judgement("", "time", verdict) for verdict in verdicts], 0
    first = 0 if variant.with_screen else 1
    measured = [
        as_escalated(Effects(benchmark, rules.budget, one[0], tuple(one[first : rules.launches + 1])), rules)
        for benchmark, one in zip(benchmarks, launches, strict=True)
    ]
    one = variant.statistic
    with patch.multiple(times, trimmed_mean=one.estimate, trimmed_interval=one.interval, p_greater=one.p):
        return times.judge_times(measured, rules), sum(suspect(one, rules) for one in measured)


def tally(variant: Variant, gates: Gates) -> Tally:
    """Play one rule on all gates."""
    counts = Tally()
    for slowed, launches in gates:
        found, more = judged(variant, launches)
        counts.add(slowed, found)
        counts.more += more
    return counts


def row(counts: Tally) -> str:
    """Cells of a table."""
    alarms = counts.seen[0.0, GateVerdict.REGRESSION]
    power = [f"{counts.share(slower, GateVerdict.REGRESSION):.0f}" for slower in (0.01, 0.02, 0.03, 0.05, 0.10)]
    cells = [
        f"{alarms} (<= {100 * rate_bound(alarms, counts.count(0.0)):.2f})",
        f"{100 * counts.red / counts.identical:.1f}",
        *power,
        f"{counts.share(0.0, GateVerdict.INCONCLUSIVE):.1f}",
        f"{100 * counts.holding / counts.intervals:.1f}" if counts.intervals else "",
        f"{counts.more / counts.gates:.1f}",
    ]
    return " | ".join(cells)


HEAD = (
    "machine", "rule", "false alarms (<= %)", "gates", "1 %", "2 %", "3 %", "5 %", "10 %", "inconclusive", "interval",
    "more launches",
)  # fmt: skip


def drawn(machine: Machine, count: int, benchmarks: int) -> Gates:
    """Return gates of one machine: every second one of identical code."""
    generator = random.Random(f"{SEED} {machine.name} {benchmarks}")
    slowed = [SLOWED[number % 2 * (1 + number // 2 % 2)] for number in range(count)]
    return [(slower, gate(machine, slower, generator, benchmarks)) for slower in slowed]


def tables(
    count: int, machines: Sequence[Machine], benchmarks: int, budgets: Sequence[float], *, everything: bool = False
) -> Iterator[str]:
    """Lines of Markdown: a table for each budget, with all rules; of all budgets but the first, the rule alone.

    Of gates of ``MANY`` benchmarks, the rule and Student's t.
    """
    lines: dict[float, list[str]] = {budget: [] for budget in budgets}
    for machine in machines:
        gates = drawn(machine, count, benchmarks)
        for budget in budgets:
            rules = variants(budget, everything=everything)
            most = len(rules) if everything else 1 if budget != budgets[0] else 2 if benchmarks == MANY else len(rules)
            for variant in rules[:most]:
                lines[budget].append(f"| {machine.name} | {variant.name} | {row(tally(variant, gates))} |")
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
    parser.add_argument("--all", action="store_true", help="more rules, and all of them at every budget")
    options = parser.parse_args()
    machines = [replace(one, rounds=options.rounds) for one in MACHINES if options.machine in one.name]
    for line in tables(options.gates, machines, 10, options.budgets, everything=options.all):
        print(line, flush=True)  # noqa: T201
    machines = [one for one in machines if one.name.startswith(MACHINES_OF_MANY)]
    for line in tables(options.gates // 3, machines, MANY, options.budgets[:1], everything=options.all):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
