"""How often the gate's rule errs, on made-up machines: ``python bench/studies/gate_rule.py [--gates N]``.

Gates of ten benchmarks are drawn: half of them of identical code, half with three that are slower by 3, 5 and 10 % (or
by 1, 2 and 3 %). Every launch shifts each benchmark by chance and all of them a little together, rounds drift and
stumble, and whoever goes second is slower. The judges are the gate's own. docs/gate.md "How often the rule errs,
simulated" has the table.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyharness.gate.judging.times import Effects, as_escalated, judge_times, suspect
from pyharness.statistics.launches import LaunchEffect, effect
from pyharness.types import GateBenchmark, GateRules, GateVerdict, Rounds, Timing

SEED = 5
MOST_LAUNCHES = 10
ROUNDS = 20
BENCHMARKS = tuple(GateBenchmark(f"b{number}", "encode", "ours") for number in range(10))
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


MACHINES = (
    Machine("quiet", 0.007, 0.01),
    Machine("middling", 0.011, 0.02),
    Machine("noisy launches", 0.015, 0.02),
    Machine("heavy-tailed launches", 0.011, 0.02, heavy=True),
    Machine("loaded: rounds of 5 %, many stumbles", 0.011, 0.05, stumbles=0.15, walk=0.02),
    Machine("second is 5 % slower", 0.011, 0.02, second=0.05),
)


def rounds(machine: Machine, shift: float, generator: random.Random) -> Rounds:
    """One benchmark in one launch, in balanced orders, two by two."""
    times: dict[bool, list[Timing]] = {False: [], True: []}
    first: list[bool] = []
    level = 0.0
    for number in range(ROUNDS):
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
    if not machine.heavy:
        return generator.gauss(0, machine.launch)
    chi = generator.gammavariate(1.5, 2)  # chi squared, 3 degrees of freedom
    return machine.launch * generator.gauss(0, 1) / math.sqrt(chi)  # variance 3 / (3 - 2) / 3: one


def gate(machine: Machine, slowed: Sequence[float], generator: random.Random) -> list[list[LaunchEffect]]:
    """Effects [benchmark][launch] of the screen and of as many launches as any rule takes."""
    together = [generator.gauss(0, machine.together) for _ in range(MOST_LAUNCHES + 1)]
    slower = [math.log1p(share) for share in slowed] + [0.0] * (len(BENCHMARKS) - len(slowed))
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
    with_screen: bool = False  # the screen is one of the launches that are tested
    one_launch: Callable[[LaunchEffect, GateRules], bool] | None = None  # decides of the screen alone


def by_rounds(screen: LaunchEffect, rules: GateRules) -> bool:
    """One launch, as if its rounds were independent: one-sided z test, Bonferroni over ten."""
    z = (screen.log - math.log1p(rules.tolerated)) / max(screen.error, 1e-9)
    return math.erfc(z / math.sqrt(2)) / 2 * len(BENCHMARKS) < rules.level and screen.log > math.log1p(rules.budget)


def by_median(screen: LaunchEffect, rules: GateRules) -> bool:
    """One launch, and its median."""
    return screen.log > math.log1p(rules.budget)


def variants(budget: float) -> list[Variant]:
    """All that are compared at one budget: what screens and how many launches, and what the rule replaces."""
    rules = GateRules(budget=budget)
    asked = ((0.02, 5), (0.02, 10), (0.01, 3), (0.01, 5), (0.01, 8), (0.01, 10))
    return [
        *(
            Variant(f"screen {100 * screen:g} %, {launches} launches", replace(rules, screen=screen, launches=launches))
            for screen, launches in asked
        ),
        Variant("screen 1 %, 9 launches and the screen", replace(rules, launches=9), with_screen=True),
        Variant("one launch, median", rules, one_launch=by_median),
        Variant("one launch, p of its rounds", rules, one_launch=by_rounds),
    ]


@dataclass
class Tally:
    """Counts over all gates of a machine."""

    gates: int = 0
    more: int = 0  # benchmarks that got more launches
    identical: int = 0  # gates of identical code
    red: int = 0  # of these
    seen: Counter[tuple[float, GateVerdict]] = field(default_factory=Counter)  # by slowdown

    def share(self, slowdown: float, verdict: GateVerdict) -> float:
        """Per cent of the benchmarks with this slowdown that had this verdict."""
        count = sum(seen for (slower, _), seen in self.seen.items() if slower == slowdown)
        return 100 * self.seen[slowdown, verdict] / count


def verdicts(variant: Variant, launches: list[list[LaunchEffect]]) -> tuple[list[GateVerdict], int]:
    """Verdicts of one gate, and how many benchmarks got more launches."""
    if variant.one_launch is not None:
        red = [variant.one_launch(one[0], variant.rules) for one in launches]
        return [GateVerdict.REGRESSION if found else GateVerdict.PASS for found in red], 0
    first = 0 if variant.with_screen else 1
    measured = [
        as_escalated(
            Effects(benchmark, variant.rules.budget, one[0], tuple(one[first : variant.rules.launches + 1])),
            variant.rules,
        )
        for benchmark, one in zip(BENCHMARKS, launches, strict=True)
    ]
    more = sum(suspect(one, variant.rules) for one in measured)
    return [found.verdict for found in judge_times(measured, variant.rules)], more


def tally(variant: Variant, gates: Gates) -> Tally:
    """Play one rule on all gates."""
    counts = Tally()
    for slowed, launches in gates:
        found, more = verdicts(variant, launches)
        counts.gates += 1
        counts.more += more
        counts.identical += not slowed
        counts.red += not slowed and GateVerdict.REGRESSION in found
        counts.seen.update(zip([*slowed, *[0.0] * (len(found) - len(slowed))], found, strict=True))
    return counts


def row(counts: Tally) -> str:
    """Cells of a table."""
    alarms, bound = counts.seen[0.0, GateVerdict.REGRESSION], counts.share(0.0, GateVerdict.REGRESSION)
    power = [f"{counts.share(slower, GateVerdict.REGRESSION):.0f}" for slower in (0.01, 0.02, 0.03, 0.05, 0.10)]
    cells = [
        f"{bound:.2f} ({alarms})",
        f"{100 * counts.red / counts.identical:.1f}",
        *power,
        f"{counts.share(0.0, GateVerdict.INCONCLUSIVE):.1f}",
        f"{counts.more / counts.gates:.1f}",
    ]
    return " | ".join(cells)


HEAD = ("rule", "false alarms, % (count)", "gates", "1 %", "2 %", "3 %", "5 %", "10 %", "inconclusive", "more launches")


def table(count: int, budgets: Sequence[float], machines: Sequence[Machine]) -> Iterator[str]:
    """Lines of Markdown."""
    for machine in machines:
        generator = random.Random(f"{SEED} {machine.name}")
        slowed = [SLOWED[number % 2 * (1 + number // 2 % 2)] for number in range(count)]
        gates = [(slower, gate(machine, slower, generator)) for slower in slowed]
        for budget in budgets:
            yield f"\n{machine.name}, budget {100 * budget:g} %\n"
            yield "| " + " | ".join(HEAD) + " |"
            yield "| :-- |" + " --: |" * (len(HEAD) - 1)
            yield from (f"| {variant.name} | {row(tally(variant, gates))} |" for variant in variants(budget))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=2000)
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.02, 0.03])
    parser.add_argument("--machine", help="part of a name: only these")
    options = parser.parse_args()
    machines = [one for one in MACHINES if (options.machine or "") in one.name]
    for line in table(options.gates, options.budgets, machines):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
