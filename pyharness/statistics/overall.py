"""How one row is to another over several texts: the geometric mean of the ratios, each text counting alike.

A group of documents is left out of all texts at once, as the jackknife of one text leaves it out of that. Documents
fall into groups by a hash of their content: one that two texts share leaves both together, and is not taken for twice
as much evidence. The interval is about as much other text of each kind; which kinds there are is the choice of who made
the suite, and no interval is about that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyharness.statistics.jackknife import GROUPS, MIN_GROUPS, interval
from pyharness.types import Measurement

Pair: TypeAlias = tuple[Measurement, Measurement]  # one metric of A and of B, of the very same documents


@dataclass(frozen=True, slots=True)
class Overall:
    """B relative to A; above 1 where B has more."""

    ratio: float
    interval: tuple[float, float] | None  # 95 %; None where a text has none, or a few documents decide it


def overall(pairs: Sequence[Pair]) -> Overall | None:
    """Geometric mean over texts of ``B / A``, with its paired interval; None where a text has no positive value.

    Args:
        pairs: A and B on each text; the caller checks that both read the same.
    """
    logs = [_log_ratio(a.value, b.value) for a, b in pairs]
    known = [one for one in logs if one is not None]
    if not logs or len(known) < len(logs):
        return None
    replicates = [_replicates(a, b, of_all) for (a, b), of_all in zip(pairs, known, strict=True)]
    ratio = math.exp(math.fsum(known) / len(known))
    if not all(replicates):
        return Overall(ratio, None)
    means = [math.fsum(of_group) / len(of_group) for of_group in zip(*replicates, strict=True)]
    bounds = interval(math.log(ratio), means)
    if bounds is None or any(one.no_pair for pair in pairs for one in pair):
        return Overall(ratio, None)
    return Overall(ratio, (math.exp(bounds[0]), math.exp(bounds[1])))


def _replicates(a: Measurement, b: Measurement, of_all: float) -> list[float]:
    """Logarithms of the ratio without each group; to leave out a group without documents changes nothing."""
    if not len(a.replicates) == len(b.replicates) == GROUPS or a.replicates.count(None) > GROUPS - MIN_GROUPS:
        return []
    found = (_log_ratio(*pair) for pair in zip(a.replicates, b.replicates, strict=True))
    return [of_all if one is None else one for one in found]


def _log_ratio(a: float | None, b: float | None) -> float | None:
    return math.log(b / a) if a is not None and b is not None and a > 0 and b > 0 else None
