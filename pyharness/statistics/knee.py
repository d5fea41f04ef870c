"""The knee of a curve: from which size on more of it gives little.

Between two sizes, the logarithm of what is gained grows by so much per thousand. Along a curve that is linear in the
logarithm of the size, this is what the curve itself grows by at the logarithmic mean of both. Between two such points
the growth is taken as a power of the size. The knee is the size from which a thousand more give just the threshold:
growth has fallen to it at the logarithmic mean of that size and a thousand more. How near that is to the knee of a
curve that is known size by size, and how often the interval holds it, is simulated: studies/adaptation/knees.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyharness.statistics import jackknife
from pyharness.types import Measurement

LITTLE = 0.005  # gained by a thousand more
_THOUSAND = 1000
_TINY = 1e-9  # growth that stands for none or less, which has no logarithm


@dataclass(frozen=True, slots=True)
class Knee:
    """A size; infinite where every step of the curve gives more than little, 0 where none does."""

    size: float
    interval: tuple[float, float] | None = None  # of 95 %
    resolved: bool = True  # at an end of the curve: the interval of what more gives there excludes ``LITTLE``


def knee(sizes: Sequence[int], gains: Sequence[Measurement]) -> Knee | None:
    """Find the size after which a thousand more give less than ``LITTLE``.

    Args:
        sizes: ascending; at least three, all positive.
        gains: of each size, relative to one and the same thing (0.25: a quarter more), measured on one text.

    Returns:
        None for fewer sizes, or where a gain is unknown. The interval is missing where gains have none.
    """
    curve = _curve([one.value for one in gains])
    if len(sizes) < 3 or curve is None:
        return None
    places = [(high - low) / math.log(high / low) for low, high in pairwise(sizes)]
    growth = _growth(sizes, curve)
    curves = map(_curve, zip(*(one.replicates for one in gains), strict=False))
    replicates = [None if known is None else _growth(sizes, known) for known in curves]
    enough = [number for number, rate in enumerate(growth) if rate >= math.log1p(LITTLE)]
    if not enough or enough[-1] == len(growth) - 1:
        end = -1 if enough else 0
        bounds = _interval(growth[end], [None if one is None else one[end] for one in replicates])
        resolved = bounds is not None and not bounds[0] <= math.log1p(LITTLE) <= bounds[1]
        return Knee(math.inf if enough else 0, resolved=resolved)
    step = enough[-1]
    found = _crossing(places, growth, step)
    bounds = jackknife.interval(found, [None if one is None else _crossing(places, one, step) for one in replicates])
    return Knee(_start(found), None if bounds is None else (_start(bounds[0]), _start(bounds[1])))


def _interval(value: float, replicates: Sequence[float | None]) -> tuple[float, float] | None:
    """95 % interval; where every group has the same, as of rows that read alike, it needs no width."""
    known = [one for one in replicates if one is not None]
    if len(known) >= jackknife.MIN_GROUPS and jackknife.lack(replicates) == jackknife.NO_SPREAD:
        return value, value
    return jackknife.interval(value, replicates)


def _curve(gains: Sequence[float | None]) -> list[float] | None:
    known = [math.log1p(gain) for gain in gains if gain is not None and gain > -1]
    return known if len(known) == len(gains) else None


def _growth(sizes: Sequence[int], curve: Sequence[float]) -> list[float]:
    """What a thousand more give between neighbouring sizes, as a logarithm."""
    return [
        _THOUSAND * (after - before) / (high - low)
        for (low, high), (before, after) in zip(pairwise(sizes), pairwise(curve), strict=True)
    ]


def _crossing(places: Sequence[float], growth: Sequence[float], step: int) -> float:
    """Logarithm of the place at which growth passes the threshold, on the line through a step and the next."""
    before, after = (math.log(max(growth[number], _TINY)) for number in (step, step + 1))
    start, stop = math.log(places[step]), math.log(places[step + 1])
    if before == after:
        return start
    return start + (before - math.log(math.log1p(LITTLE))) / (before - after) * (stop - start)


def _start(place: float) -> float:
    """Size whose logarithmic mean with a thousand more is e to the power of ``place``."""
    return _THOUSAND / math.expm1(_THOUSAND / math.exp(place))
