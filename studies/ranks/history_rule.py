"""How often rules for a history err: ``python studies/ranks/history_rule.py [--histories N] [--null DRAWS]``.

A history is a series of made-up points, one for each revision: ratios to an anchor as a gate measures them, or absolute
times. Counted is how many histories without a change have an alarm, at the end and *ever*: when looked at after each
revision from the 21st on. Then planted: a step, a drift, a rise that is reverted. An alarm there must be within five
revisions of the step, or anywhere in the drift. docs/history.md "How often it errs, simulated" has the tables.

Other tables instead: ``--null`` has the thresholds of steps and how often random orders exceed them, ``--short`` how
often a short level is found, ``--second`` how often a real step has a false one beside it, ``--time`` how long a line
takes. ``--peers`` has the step detections of asv and Otava, where these packages are installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.gate.verdicts.hypotheses import rate_bound
from pyharness.features.history import steps

REVISIONS = 100
FIRST_LOOK = 20  # revisions
CHANGE = 50  # the revision with a step, or the first of the drift minus 20
NEAR = 5  # revisions
EFFECT = 0.015
SEED = 31
Series: TypeAlias = NDArray[np.float64]
Alarms: TypeAlias = list[tuple[int, bool]]  # places, and whether it became slower there
Rule: TypeAlias = Callable[[Series], list[Alarms]]  # of [histories, revisions]


def ratios(draws: np.random.Generator, histories: int) -> Series:
    """Logarithms of ratios to an anchor, with an error of 0.6 %."""
    return draws.normal(0, 0.006, (histories, REVISIONS))


def heavy_tails(draws: np.random.Generator, histories: int) -> Series:
    """The same error, but Student's t with 3 degrees of freedom."""
    noise: Series = 0.006 / np.sqrt(3) * draws.standard_t(3, (histories, REVISIONS))
    return noise


def other_layouts(draws: np.random.Generator, histories: int) -> Series:
    """Every fifth build is off: its layout moves the level by 0.5 %, until the next one that does."""
    moves = draws.random((histories, REVISIONS)) < 0.2
    moves[:, 0] = True
    levels = draws.normal(0, 0.005, (histories, REVISIONS))
    last = np.maximum.accumulate(np.where(moves, np.arange(REVISIONS), 0), axis=1)
    return ratios(draws, histories) + np.take_along_axis(levels, last, axis=1)


def own_machine(draws: np.random.Generator, histories: int) -> Series:
    """Logarithms of times on an own machine: 2 %, half of which goes on to the next revision."""
    noise = draws.normal(0, 0.02 * np.sqrt(0.75), (histories, REVISIONS))
    noise[:, 0] /= np.sqrt(0.75)
    for place in range(1, REVISIONS):
        noise[:, place] += 0.5 * noise[:, place - 1]
    return noise


def shared_runners(draws: np.random.Generator, histories: int) -> Series:
    """Logarithms of times on shared runners, 12 %."""
    return draws.normal(0, 0.12, (histories, REVISIONS))


POINTS: Mapping[str, Callable[[np.random.Generator, int], Series]] = {
    "ratio to an anchor, scatter 0.6 %": ratios,
    "the same, heavy tails": heavy_tails,
    "the same, and every fifth build is off by 0.5 %": other_layouts,
    "absolute times, own machine, scatter 2 %, AR(1) 0.5": own_machine,
    "absolute times, shared runners, scatter 12 %": shared_runners,
}


def rank_scan(series: Series) -> list[Alarms]:
    """The rule of ``pyharness history check``: steps of 1.5 % and more."""
    scanned, least = steps.scan(series), steps.threshold(series.shape[1])
    alarms: list[Alarms] = [[] for _ in series]
    for row in np.flatnonzero((scanned.statistics > least).any(axis=1)):
        alarms[row] = [(step.index, step.effect > 0) for step in steps.steps(series[row], EFFECT)]
    return alarms


def z_scores(series: Series) -> list[Alarms]:
    """The last value is 5 standard deviations from the mean of up to 100 before it; at least ten."""
    return _each_point(series, 10, lambda before, last: abs(last - before.mean()) > 5 * before.std(ddof=1))


def previous_value(series: Series) -> list[Alarms]:
    """The last value is 10 % above the one before; only slower is an alarm."""
    return _each_point(series, 1, lambda before, last: bool(last - before[-1] > np.log(1.1)))


def _each_point(series: Series, fewest: int, alarms: Callable[[Series, float], bool]) -> list[Alarms]:
    return [
        [(place, row[place] > row[max(0, place - 100) : place].mean()) for place in range(fewest, len(row))
         if alarms(row[max(0, place - 100) : place], row[place])]
        for row in series
    ]  # fmt: skip


def asv_steps(series: Series) -> list[Alarms]:
    """The regressions of asv (0.6) of 1 % and more, as its page shows them, of ratios and times themselves."""
    from asv.step_detect import detect_regressions, detect_steps  # type: ignore[import-not-found]

    alarms: list[Alarms] = []
    for row in np.exp(series):
        _, _, regressions = detect_regressions(detect_steps(row.tolist()), 0.01)
        alarms.append([(after, True) for _, after, *_ in regressions or ()])
    return alarms


def otava_changes(series: Series) -> list[Alarms]:
    """The change points of Apache Otava (0.8), once Hunter, with its defaults."""
    from otava.analysis import compute_change_points  # type: ignore[import-not-found]

    alarms: list[Alarms] = []
    for row in np.exp(series):
        changes, _ = compute_change_points(row.tolist())
        alarms.append([(int(one.index), bool(one.stats.mean_2 > one.stats.mean_1)) for one in changes])
    return alarms


SCAN = "seeded rank scan, 0.1 %, effect 1.5 %"
RULES: Mapping[str, tuple[Rule, bool]] = {  # and whether a rule of the last point alone, which ever means the end
    SCAN: (rank_scan, False),
    "z-score of 5 over the last 100": (z_scores, True),
    "previous value + 10 %": (previous_value, True),
}
PEERS: Mapping[str, tuple[Rule, bool]] = {
    "asv, steps of 1 %": (asv_steps, False),
    "Otava (Hunter), defaults": (otava_changes, False),
}


def planted(change: str) -> Series:
    """What a change adds to each revision."""
    places = np.arange(REVISIONS)
    added: Mapping[str, Series] = {
        "2 %": np.log(1.02) * (places >= CHANGE),
        "3 %": np.log(1.03) * (places >= CHANGE),
        "drift": np.interp(places, [CHANGE - 30, CHANGE + 30], [0, np.log(1.03)]),
        "reverted": np.log(1.03) * ((places >= CHANGE) & (places < CHANGE + 15)),
    }
    return added[change]


CHANGES = ("2 %", "3 %", "drift", "reverted")


def finds(change: str, alarms: Alarms) -> bool:
    """Whether an alarm says slower near the step, or anywhere in the drift."""
    near = 30 if change == "drift" else NEAR
    return any(slower and abs(place - CHANGE) <= near for place, slower in alarms)


@dataclass(frozen=True)
class Row:
    """Counts of a rule on one kind of points."""

    histories: int
    alarms: int
    ever: int
    found: Mapping[str, int]
    after: float | None  # revisions from a step of 3 % to its first alarm, median of those found


def counts(kind: str, name: str, histories: int, looked_at: int) -> Row:
    """Count alarms of a rule; *ever* and the delay, which look 80 times, on the first ``looked_at`` histories."""
    rule, of_the_last = {**RULES, **PEERS}[name]
    draws = np.random.default_rng([SEED, list(POINTS).index(kind)])
    noise = POINTS[kind](draws, histories)
    alarms = sum(map(bool, rule(noise)))
    found = {change: sum(finds(change, one) for one in rule(noise + planted(change))) for change in CHANGES}
    shown = noise[:looked_at]
    ever = alarms if of_the_last else int(first_alarms(rule, shown, FIRST_LOOK, bool).astype(bool).sum())
    if of_the_last:
        places = [[place for place, slower in one if slower and CHANGE <= place <= CHANGE + NEAR]
                  for one in rule(shown + planted("3 %"))]  # fmt: skip
        delays = np.array([one[0] - CHANGE + 1 for one in places if one])
    else:
        first = first_alarms(rule, shown + planted("3 %"), CHANGE, lambda one: finds("3 %", one))
        delays = first[first > 0] - CHANGE
    return Row(histories, alarms, ever, found, float(np.median(delays)) if len(delays) else None)


def first_alarms(rule: Rule, series: Series, first: int, counts: Callable[[Alarms], bool]) -> NDArray[np.intp]:
    """Return how many revisions each history had when it first had an alarm that counts; 0: never."""
    seen = np.zeros(len(series), np.intp)
    for revisions in range(first + 1, REVISIONS + 1):
        open_ = np.flatnonzero(seen == 0)
        alarms = rule(series[open_, :revisions])
        seen[open_[[counts(one) for one in alarms]]] = revisions
    return seen


def share(count: int, of: int) -> str:
    """Per cent, with its upper bound (one-sided, 95 %)."""
    return f"{100 * count / of:.2g} (<= {100 * rate_bound(count, of):.2g})"


def table(rules: Mapping[str, tuple[Rule, bool]], histories: int, looked_at: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"| points | rule | alarms | ever | {' | '.join(CHANGES)} | after |"
    yield "| :-- | :-- |" + " --: |" * (len(CHANGES) + 3)
    for kind in POINTS:
        for name, (_, of_the_last) in rules.items():
            row = counts(kind, name, histories, looked_at)
            found = [f"{100 * row.found[change] / row.histories:.3g}" for change in CHANGES]
            ever = share(row.ever, histories if of_the_last else min(histories, looked_at))
            after = "" if row.after is None else f"{row.after:.0f}"
            cells = [kind, name, share(row.alarms, row.histories), ever, *found, after]
            yield f"| {' | '.join(cells)} |"


def null_levels(draws: int) -> Iterator[str]:
    """Lines of Markdown: thresholds, and how often random orders exceed them, in per cent."""
    yield "| points | 99.9 % quantile | threshold | exceeded, % |"
    yield "| --: | --: | --: | --: |"
    for count in (20, 23, 45, 50, 90, 100, 150, 200, 350, 500, 1000):
        largest = largest_statistics(count, draws)
        exceeded = int((largest > steps.threshold(count)).sum())
        quantile = np.quantile(largest, 1 - steps.LEVEL, method="higher")
        yield f"| {count:,} | {quantile:.4f} | {steps.threshold(count):.4f} | {share(exceeded, draws)} |"


def largest_statistics(count: int, draws: int) -> NDArray[np.float64]:
    """Largest statistics of random orders of ``count`` points, float64 [draws]."""
    random, at_once = np.random.default_rng([SEED, count]), max(1, 200_000 // count)
    parts = [min(at_once, draws - done) for done in range(0, draws, at_once)]
    return np.concatenate([steps.scan(random.random((part, count))).statistics.max(axis=1) for part in parts])


def durations(count: int = 500, repeats: int = 20) -> Iterator[str]:
    """One line: how long a series of ``count`` points takes."""
    series, took = np.random.default_rng(SEED).normal(0, 0.006, count), []
    for _ in range(repeats):
        begun = time.perf_counter()
        steps.steps(series, EFFECT)
        took.append(time.perf_counter() - begun)
    yield f"{count} points: {1e3 * float(np.median(took)):.1f} ms, median of {repeats}"


def short_levels(lines: int = 300) -> Iterator[str]:
    """Lines: how often both ends of a rise of 5 % are found that is reverted with eight points after it."""
    draws, places = np.random.default_rng(SEED), np.arange(33)
    for scatter in (0.01, 0.015):
        noise = draws.normal(0, scatter, (lines, len(places)))
        seen = [steps.steps(one, EFFECT) for one in noise + 0.05 * ((places >= 11) & (places < 25))]
        both = sum([step.effect > 0 for step in one] == [True, False] for one in seen)
        yield f"points scatter by {scatter:.1%}: both ends in {both} of {lines}"


def second_steps(histories: int = 1_000) -> Iterator[str]:
    """Lines: how often another step is reported besides one of 3 % in the middle."""
    for name, points in list(POINTS.items())[:3]:
        seen = rank_scan(points(np.random.default_rng(SEED), histories) + planted("3 %"))
        more = sum(len(one) > 1 for one in seen)
        yield f"{name}: another step in {more} of {histories:,} (<= {rate_bound(more, histories):.2%})"


def main() -> None:
    """Parse and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--looked-at", type=int, default=1000, help="histories that are looked at 80 times")
    parser.add_argument("--peers", action="store_true", help="asv and Otava instead: about 50 ms a history and look")
    parser.add_argument("--null", type=int, metavar="DRAWS", default=0)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--short", action="store_true", help="a level of few points behind a rise, instead")
    parser.add_argument("--second", action="store_true", help="other steps besides a real one, instead")
    given = parser.parse_args()
    lines = table(PEERS if given.peers else RULES, given.histories, given.looked_at)
    if given.null or given.time:
        lines = null_levels(given.null) if given.null else durations()
    if given.short:
        lines = short_levels()
    if given.second:
        lines = second_steps()
    for line in lines:
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
