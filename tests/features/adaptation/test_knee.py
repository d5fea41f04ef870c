"""The knee of a curve: where it is on curves whose knee is known, what noise makes of it, and where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pyharness.features.adaptation.metrics import LITTLE, knee
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Measurement

SIZES = [1024, 2048, 4096, 8192, 16384]


def gains(curve: Callable[[float], float], noise: float = 0, seed: int = 0) -> list[Measurement]:
    """Gains along a curve of logarithms; groups differ in how steep theirs is."""
    steep = 1 + noise * np.random.default_rng(seed).standard_normal(GROUPS)
    found = []
    for size in SIZES:
        without = [math.expm1(float(np.delete(steep, group).mean()) * curve(size)) for group in range(GROUPS)]
        found.append(Measurement("gain", math.expm1(float(steep.mean()) * curve(size)), replicates=tuple(without)))
    return found


@pytest.mark.parametrize("at", [1600, 3000, 6340, 11000])
def test_a_curve_that_grows_with_the_logarithm(at: float) -> None:
    rate = math.log1p(LITTLE) / math.log((at + 1000) / at)  # a thousand more give just little there
    found = knee(SIZES, gains(lambda size: rate * math.log(size)))
    assert found is not None
    assert found.size == pytest.approx(at)
    assert found.interval is None  # all groups have the same curve


def test_a_curve_that_bends() -> None:
    def curve(size: float) -> float:
        return 0.3 * (1 - math.exp(-size / 3000))

    at = 3000 * math.log(0.3 * -math.expm1(-1 / 3) / math.log1p(LITTLE))  # a thousand more give just little there
    found = knee(SIZES, gains(curve))
    assert found is not None
    assert found.size == pytest.approx(at, rel=0.05)


def test_the_interval_holds_the_knee_as_often_as_it_says() -> None:
    rate = math.log1p(LITTLE) / math.log(6000 / 5000)
    held, shown, draws = 0, 0, 400
    for seed in range(draws):
        found = knee(SIZES, gains(lambda size: rate * math.log(size), 0.5, seed))
        assert found is not None
        if found.interval is not None:
            shown += 1
            held += found.interval[0] <= 5000 <= found.interval[1]
    assert shown > 0.9 * draws
    assert 0.92 <= held / shown <= 0.99


def test_where_there_is_none() -> None:
    steep, flat = knee(SIZES, gains(math.log)), knee(SIZES, gains(lambda size: 0.001 * math.log(size)))
    assert (steep and steep.size, flat and flat.size) == (math.inf, 0)
    falling = knee(SIZES, gains(lambda size: min(0.1 * math.log(size), 0.1 * math.log(3000) - size / 1e6)))
    assert falling is not None
    assert 512 < falling.size < 6000, "a curve that falls has given enough"
    assert knee(SIZES[:2], gains(math.log)[:2]) is None
    assert knee(SIZES, [*gains(math.log)[:4], Measurement("gain", None, reason="no tokens")]) is None
    few = knee(SIZES, [Measurement("gain", one.value) for one in gains(lambda size: 0.02 * math.log(size))])
    assert few is not None
    assert few.size == pytest.approx(1000 / math.expm1(math.log1p(LITTLE) / 0.02))
    assert few.interval is None


@pytest.mark.parametrize(("rate", "size"), [(0.0051, math.inf), (0.0049, 0)])
def test_an_end_of_the_curve_is_a_verdict_where_groups_agree(rate: float, size: float) -> None:
    agreed, apart = (knee(SIZES, gains(lambda tokens: rate * tokens / 1000, noise)) for noise in (0.01, 0.5))
    assert agreed is not None
    assert apart is not None
    assert (agreed.size, agreed.resolved) == (size, True)
    assert not apart.resolved
