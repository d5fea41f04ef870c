"""What pytest-benchmark's ``--benchmark-compare-fail`` would have said of the gate's trials, beside what ours says.

``python studies/compare_fail.py [FILE]`` reads the raw samples of ``studies/gate_trials.py`` and measures
nothing. The rules are ``mean:5%`` and ``min:5%``: fail where the mean (the smallest) of the rounds' wall times per call
is more than 5 % above that of the baseline, a file that was saved before (pytest-benchmark 5,
``PercentageRegressionCheck``). A baseline is taken in three ways, from the worst to what the rule cannot have:

- stored: base of the trial before, head of this one, as files of two jobs are;
- stored, alike: the same, of the nearest trial before on a machine as busy as this one;
- in turns: base and head of one launch, whose rounds took turns. No stored file is so good.

Counted are the screening launches, which every benchmark has. docs/gate.md has the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from gate_trials import LEVELS, RESULTS, RULES, Trial, judged_again, kept
from pyharness.features.gate.types import SCREEN, GateVerdict, Rounds, Side
from pyharness.features.gate.verdicts.hypotheses import rate_bound

THRESHOLD = 0.05
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"mean:5%": fmean, "min:5%": min}
BASELINES = ("stored", "stored, alike", "in turns")
Verdicts = Mapping[str, bool]  # by benchmark: whether a rule fails it


def fails(base: Sequence[float], head: Sequence[float], statistic: Callable[[Sequence[float]], float]) -> bool:
    """Whether the head is more than 5 % above the baseline.

    >>> fails([1.0, 1.0], [1.0, 1.09], fmean), fails([1.0, 1.0], [1.0, 1.11], fmean), fails([1.0], [1.06, 1.0], min)
    (False, True, False)
    """
    return statistic(head) / statistic(base) - 1 > THRESHOLD


def seconds(rounds: Rounds, side: Side) -> list[float]:
    """Wall time of a call in each round."""
    timings = rounds.base if side == "base" else rounds.head
    return [timing.wall / rounds.calls / 1e9 for timing in timings]


def screened(trial: Trial) -> dict[str, Rounds]:
    """The first launch of each benchmark."""
    return {part.benchmark: part for part in trial.gate.rounds if part.launch == SCREEN}


def baseline(trials: Sequence[Trial], number: int, kind: str) -> Trial | None:
    """The trial that the base is taken from; None where none came before."""
    if kind == "in turns":
        return trials[number]
    before = [one for one in trials[:number] if kind == "stored" or one.loaded == trials[number].loaded]
    return before[-1] if before else None


def by_rule(trials: Sequence[Trial], kind: str, rule: str) -> Iterator[tuple[Trial, Verdicts]]:
    """What a rule of pytest-benchmark says of each trial that has a baseline."""
    for number, trial in enumerate(trials):
        if (stored := baseline(trials, number, kind)) is None:
            continue
        base, head = screened(stored), screened(trial)
        yield (
            trial,
            {
                name: fails(seconds(base[name], "base"), seconds(head[name], "head"), STATISTICS[rule])
                for name in base.keys() & head.keys()
            },
        )


def ours(trials: Sequence[Trial]) -> Iterator[tuple[Trial, Verdicts]]:
    """What the gate says: its rule, over all launches."""
    for trial in trials:
        verdicts = judged_again(trial, RULES)
        yield trial, {name: GateVerdict.REGRESSION in found for name, found in verdicts.items()}


def row(name: str, said: Sequence[tuple[Trial, Verdicts]]) -> str:
    """Count false alarms, with the 95 % bound of their rate, and what was found of each slowdown."""
    unchanged = [failed for trial, verdicts in said for one, failed in verdicts.items() if one not in trial.planted]
    alarms = f"{sum(unchanged)} of {len(unchanged)}"
    if unchanged:
        alarms += f" ({sum(unchanged) / len(unchanged):.1%}, at most {rate_bound(sum(unchanged), len(unchanged)):.1%})"
    red = sum(any(failed for one, failed in verdicts.items() if one not in trial.planted) for trial, verdicts in said)
    cells = [name, alarms, f"{red} of {len(said)}"]
    for level in LEVELS:
        slowed = [verdicts[one] for trial, verdicts in said for one, much in trial.planted.items()
                  if much == level and one in verdicts]  # fmt: skip
        cells.append(f"{sum(slowed)} of {len(slowed)}")
    return f"| {' | '.join(cells)} |"


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """Lines of Markdown; trials in the order in which they ran."""
    in_order = sorted(trials, key=lambda trial: trial.gate.about.get("begun", 0.0))
    yield "| rule | false alarms | gates with one | " + " | ".join(f"{level:.0%} found" for level in LEVELS) + " |"
    yield "| :-- |" + " --: |" * (2 + len(LEVELS))
    for rule in STATISTICS:
        for kind in BASELINES:
            yield row(f"`{rule}`, {kind}", [*by_rule(in_order, kind, rule)])
    yield row("`pyharness gate`", [*ours(in_order)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=RESULTS)
    for line in table(kept(parser.parse_args().file)):
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
