"""Draws of items from a pool, and how often the CIs of each number hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coverage import HELD, DrawsByName, collect
from pyharness.statistics.jackknife import GROUPS, group_of
from pyharness.types import Measurement, digest_of

Integers = NDArray[np.int64]
Measure = Callable[[Integers, Sequence[bytes]], Sequence[Measurement]]  # of drawn items, with their keys
LEAST_SHOWN = 0.2  # of draws: fewer say nothing


@dataclass(frozen=True)
class MeasuredPool:
    """Items, and what two rows measure of some of them."""

    name: str
    items: int
    pair: tuple[Measure, Measure]


@dataclass(frozen=True)
class CoverageLine:
    """Coverage of one number in per cent; None where a number is a constant or has no CI."""

    pool: str
    name: str
    single: float | None
    paired: float | None
    shown: float  # per cent of draws

    @property
    def holds(self) -> bool:
        """Whether every share is within the bounds, to the per cent."""
        shares = [share for share in (self.single, self.paired) if share is not None]
        return all(HELD[0] <= round(share) <= HELD[1] for share in shares)

    @property
    def cells(self) -> list[str]:
        """Cells of a table."""
        shares = ["-" if share is None else f"{share:.1f}" for share in (self.single, self.paired)]
        return [self.pool, self.name, *shares, f"{self.shown:.0f}", "" if self.holds else "no"]


def simulate(pool: MeasuredPool, size: int, draws: int, seed: int = 1) -> DrawsByName:
    """Draw ``size`` items, again and again, and measure each draw with both rows."""
    generator = np.random.default_rng(seed)

    def measured(chosen: Integers) -> tuple[Sequence[Measurement], Sequence[Measurement]]:
        salt = int(generator.integers(1 << 62))
        keys = [digest_of(f"{salt} {place}") for place in range(len(chosen))]
        first, second = (measure(chosen, keys) for measure in pool.pair)
        return first, second

    whole = measured(np.arange(pool.items))
    return collect(whole, (measured(generator.integers(0, pool.items, size)) for _ in range(draws)))


def lines_of(pool: str, draws_of: DrawsByName) -> Iterator[CoverageLine]:
    """Yield a line for each number with CIs in enough draws."""
    for name, one in draws_of.items():
        shown = len(one.values) / one.drawn
        if shown >= LEAST_SHOWN:
            yield CoverageLine(pool, name, *one.coverage(), 100 * shown)


def groups_of(keys: Sequence[bytes]) -> Integers:
    """Groups of drawn items."""
    return np.array([group_of(key) for key in keys], np.int64)


def by_group(counts: Integers, chosen: Integers, keys: Sequence[bytes]) -> Integers:
    """Add up the counts of drawn items by group, int64 [GROUPS, columns]."""
    sums = np.zeros((GROUPS, counts.shape[1]), np.int64)
    np.add.at(sums, groups_of(keys), counts[chosen])
    return sums
