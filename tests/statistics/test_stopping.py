"""The stopping rule: enough samples, enough time, little noise, or noise that has settled."""

from __future__ import annotations

import gc
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.statistics.samples import StoppingRule, Timings, noise
from pyharness.system.timing import without_collector

TIMES = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=200)


def series(samples: list[float], **changes: float) -> Timings:
    timings = Timings(StoppingRule(**changes))  # type: ignore[arg-type]
    for sample in samples:
        timings.add(sample)
    return timings


def test_the_rule_is_nvbenchs() -> None:
    rule = StoppingRule()
    assert (rule.min_samples, rule.min_seconds, rule.max_noise, rule.max_seconds) == (10, 0.5, 0.005, 15.0)


@pytest.mark.parametrize(
    ("samples", "enough"),
    [
        ([0.1] * 9, False),  # too few
        ([0.1] * 10, True),
        ([0.01] * 49, False),  # too short together
        ([0.01] * 51, True),
        ([0.1, 0.102] * 10, False),  # 1 % of noise
        ([0.1, 0.1005] * 10, True),  # 0.25 %
        ([], False),
    ],
)
def test_quiet_series_end_when_they_are_long_enough(samples: list[float], enough: bool) -> None:
    assert series(samples).enough is enough


def test_a_noisy_series_ends_once_its_noise_has_settled() -> None:
    generator = random.Random(1)
    timings = Timings()
    while not timings.enough and len(timings.samples) < 5000:
        timings.add(generator.gauss(0.1, 0.02))
    assert 64 <= len(timings.samples) < 2000
    assert timings.noise == pytest.approx(0.2, rel=0.3)


def test_noise_that_still_moves_is_not_settled() -> None:
    timings = series([0.1] * 10 + [0.1 * 1.02**step for step in range(200)])
    assert timings.noise > 0.5
    assert not timings.enough


@given(TIMES)
def test_noise_is_the_relative_standard_deviation(samples: list[float]) -> None:
    expected = statistics.stdev(samples) / statistics.fmean(samples)
    assert noise(samples) == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert series(samples).noise == noise(samples)


def test_one_sample_has_no_noise() -> None:
    assert noise([1.0]) is None
    assert noise([]) is None


def test_the_collector_rests_within_the_block_only() -> None:
    assert gc.isenabled()
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
