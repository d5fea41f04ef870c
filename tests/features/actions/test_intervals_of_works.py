"""Intervals over a few wholes, such as clips: each is a group of its own. What they cover is drawn and counted."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyharness.features.actions.metrics import estimate_of_works
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, MIN_WORKS, Groups, Undefined, interval
from pyharness.types import Measurement


def ratio_of(sums: list[float], counts: list[int]) -> Measurement:
    """A ratio of sums over works."""
    groups = min(len(sums), GROUPS)
    number = np.arange(len(sums)) % GROUPS
    above = np.bincount(number, sums, groups)
    below = np.bincount(number, counts, groups)

    def of(kept: Groups) -> float:
        if not below[kept].sum():
            raise Undefined("nothing is counted")
        return float(above[kept].sum() / below[kept].sum())

    return estimate_of_works("premium_gini", len(sums), of)


def test_each_of_few_works_is_left_out_once() -> None:
    found = ratio_of([1, 2, 3, 4, 5, 9], [1, 1, 1, 1, 1, 1])
    assert found.value == 4
    assert found.replicates == pytest.approx([4.6, 4.4, 4.2, 4.0, 3.8, 3.0])
    assert interval(found.value, found.replicates) is not None


def test_too_few_works_have_no_interval() -> None:
    found = ratio_of([1.0] * (MIN_WORKS - 1), [1] * (MIN_WORKS - 1))
    assert found.value == 1
    assert re.match(r"5 .*clips.* 6\b", str(found.no_interval))
    assert interval(1.0, [1.0] * (MIN_WORKS - 1)) is None


def test_a_work_without_which_nothing_is_left_has_no_replicate() -> None:
    assert ratio_of([3.0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]).replicates[0] is None
    assert ratio_of([0.0] * 6, [0] * 6).reason == "nothing is counted"


def test_groups_of_documents_still_need_sixteen() -> None:
    values = [1.0 + number / 100 for number in range(15)]
    assert interval(1.0, [*values, *[None] * (GROUPS - 15)]) is None
    assert interval(1.0, values) is not None


def test_more_works_than_groups_share_them() -> None:
    assert len(ratio_of([float(number) for number in range(70)], [1] * 70).replicates) == GROUPS


@pytest.mark.parametrize("works", [MIN_WORKS, 12, 64])
def test_intervals_cover_what_they_claim(works: int) -> None:
    """Ratios of skewed sums over works of several sizes, 600 times: 95 % less what so few of them cost."""
    random = np.random.default_rng(works)
    held = shown = 0
    for _ in range(600):
        counts = random.integers(1, 8, works)
        sums = counts * random.gamma(6, 1 / 6, works)
        found = ratio_of(sums.tolist(), counts.tolist())
        if (bounds := jackknife.interval(found.value, found.replicates)) is not None:
            shown += 1
            held += bounds[0] <= 1 <= bounds[1]
    assert shown > 500
    assert 0.90 <= held / shown <= 0.985
