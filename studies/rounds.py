"""How often the interval of a paired ratio covers the truth: ``python studies/rounds.py [--draws N]``.

Rows that are equally fast take turns on a made-up machine that drifts, wanders and stumbles. Counted is how often the
interval of ``statistics.rounds`` holds 1, with its order of turns and with the same order in every round, and how wide
it is. docs/measuring.md "Rows in rounds" has the table.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.statistics.rounds import ratio_interval, turns

ROUNDS = (3, 6, 10, 20)
ROWS = (2, 6)
SEED = 11
STUMBLE = 0.3  # mean of the logarithm of what a stumble takes


@dataclass(frozen=True)
class Machine:
    """What a machine does to logarithms of times."""

    name: str
    drift: float = 0.0  # per round, always the same way
    walk: float = 0.0  # standard deviation of a step of a random walk, per turn
    noise: float = 0.01  # standard deviation of a turn's own
    stumbles: float = 0.0  # share of turns in which something else runs


MACHINES = (
    Machine("quiet"),
    Machine("gets slower by 5 % a round", drift=0.05, walk=0.01),
    Machine("gets slower by 20 % a round", drift=0.2),
    Machine("wanders", walk=0.05),
    Machine("stumbles in a tenth of the turns", walk=0.01, noise=0.02, stumbles=0.1),
)


def times(
    machine: Machine, rows: int, rounds: int, order: Callable[[int, int], list[int]], seed: int
) -> NDArray[np.float64]:
    """Logarithms of times, float64 [rounds, rows]."""
    generator, steps = np.random.default_rng((SEED, seed)), rows * rounds
    seen = machine.drift * np.arange(steps) / rows + np.cumsum(generator.normal(0, machine.walk, steps))
    seen += generator.normal(0, machine.noise, steps)
    seen += (generator.random(steps) < machine.stumbles) * generator.exponential(STUMBLE, steps)
    logs = np.empty((rounds, rows))
    for number in range(rounds):
        logs[number, order(rows, number)] = seen[number * rows : (number + 1) * rows]
    return logs


def coverage(
    machine: Machine, rows: int, rounds: int, order: Callable[[int, int], list[int]], draws: int
) -> tuple[float, float]:
    """Share of intervals that hold the truth, and the median half width, of neighbours in the list of rows."""
    covered, widths = 0, []
    for draw in range(draws):
        logs = times(machine, rows, rounds, order, draw)
        low, high = ratio_interval([math.exp(ratio) for ratio in logs[:, 1] - logs[:, 0]]) or (0.0, 0.0)
        covered += low <= 1 <= high
        widths.append((high - low) / 2)
    return covered / draws, statistics.median(widths)


def same_order(rows: int, _: int) -> list[int]:
    """The order of a table, in every round."""
    return list(range(rows))


def table(draws: int) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| machine | rows | " + " | ".join(f"{rounds} rounds" for rounds in ROUNDS) + " | same order, 10 rounds |"
    yield "| :-- | --: |" + " --: |" * (len(ROUNDS) + 1)
    for machine in MACHINES:
        for rows in ROWS:
            cells = [coverage(machine, rows, rounds, turns, draws) for rounds in ROUNDS]
            fixed, _ = coverage(machine, rows, 10, same_order, draws)
            shown = [f"{100 * share:.0f} (±{100 * width:.1f} %)" for share, width in cells]
            yield f"| {machine.name} | {rows} | {' | '.join(shown)} | {100 * fixed:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    for line in table(parser.parse_args().draws):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
