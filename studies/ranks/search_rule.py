"""How often does ``pyharness history find`` name the commit, a range, or another one?

    python studies/ranks/search_rule.py [--searches 1000]

Searches are simulated: a step at a random one of 128 commits, launches that scatter by 1.3 %, and builds whose layout
differs: each commit's time is off by its own 0.3 %, in all of its gates. The search itself is real
(``pyharness/features/history/measuring/bisecting.py``). docs/history.md "Find the commit" has the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pyharness.features.gate.types import (
    BELOW_ALL,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Rounds,
    SelfTest,
    Timing,
)
from pyharness.features.gate.verdicts.hypotheses import rate_bound
from pyharness.features.history.measuring.bisecting import searched
from pyharness.features.history.measuring.gates import HistoryGates

COMMITS = 128
STEPS = (0.01, 0.015, 0.02, 0.03, 0.05)
LAUNCH, BUILD = 0.013, 0.003
SEED = 31
NANOSECONDS = 10**9  # of a batch: so that rounding is nothing


@dataclass
class MadeUp:
    """Gates of commits that are numbers in text."""

    draws: np.random.Generator
    times: Sequence[float]  # logarithms, of each commit

    def measured(self, base: str, head: str, launches: int, **_: Any) -> Gate:
        """Make up a gate of one benchmark."""
        effect = self.times[int(head)] - self.times[int(base)]
        rules = GateRules(launches=launches, screen=BELOW_ALL)
        one = Timing(NANOSECONDS, NANOSECONDS)
        rounds = []
        for launch, log in enumerate(effect + self.draws.normal(0, LAUNCH, launches + 1)):
            time = round(NANOSECONDS * float(np.exp(log)))
            other = Timing(time, time)
            rounds.append(Rounds("encode", launch, 1, (one,) * 4, (other,) * 4, (True, False) * 2))
        benchmark = GateBenchmark("encode", "encode", "made-up")
        return Gate("made up", rules, {}, (benchmark,), (), tuple(rounds), (), SelfTest(()), GateVerdict.PASS)


@dataclass
class Counts:
    """Of searches for a step of one size."""

    hits: int = 0
    ranges: int = 0
    holding: int = 0  # ranges that hold the commit
    wrong: int = 0
    launches: int = 0


def counted(step: float, searches: int, commits: int = COMMITS, seed: int = SEED) -> Counts:
    """Play searches for a step of one size."""
    draws, counts = np.random.default_rng(seed), Counts()
    names = [str(number) for number in range(commits)]
    for _ in range(searches):
        culprit = int(draws.integers(1, commits))
        times = draws.normal(0, BUILD, commits) + step * (np.arange(commits) >= culprit)
        done = searched(cast(HistoryGates, MadeUp(draws, times.tolist())), "encode", names)
        counts.launches += sum(one.launches for one in done.trail)
        if done.culprit:
            counts.hits += int(done.culprit) == culprit
            counts.wrong += int(done.culprit) != culprit
        else:
            counts.ranges += 1
            counts.holding += int(done.good) < culprit <= int(done.bad)
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=1000)
    searches = parser.parse_args(arguments).searches
    print("| step | commit found | range | range with the commit | wrong commit | launches |")  # noqa: T201
    print("| --: | --: | --: | --: | --: | --: |")  # noqa: T201
    for step in STEPS:
        one = counted(step, searches)
        rate, bound = 100 * one.wrong / searches, 100 * rate_bound(one.wrong, searches)
        print(f"| {100 * step:g} % | {100 * one.hits / searches:.1f} | {100 * one.ranges / searches:.1f} "  # noqa: T201
              f"| {100 * one.holding / searches:.1f} | {rate:.1f} (<= {bound:.2g}) "
              f"| {one.launches / searches:.0f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
