"""Intervals: the quantiles, the formula, coverage, and pairs."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pyharness.statistics.jackknife import (
    GROUPS,
    MIN_GROUPS,
    NO_SPREAD,
    T_QUANTILES,
    degrees_of_freedom,
    effective,
    estimate,
    interval,
    lack,
    paired_interval,
    paired_lack,
    rounded,
    t_quantile,
    unequal,
)
from pyharness.statistics.samples import interval_of, lack_of, median, median_interval, percentile
from pyharness.types import Measurement


@pytest.mark.parametrize("freedom", range(1, GROUPS))
def test_quantiles_are_students(freedom: int) -> None:
    assert T_QUANTILES[freedom - 1] == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-6)
    assert t_quantile(freedom) == pytest.approx(T_QUANTILES[freedom - 1], rel=1e-12)


@given(st.floats(1, GROUPS - 1))
def test_quantiles_between_whole_degrees_of_freedom(freedom: float) -> None:
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.005 if freedom >= 2 else 0.03)


def test_degrees_of_freedom_fall_where_few_groups_carry_the_variance() -> None:
    assert degrees_of_freedom([1.0] * GROUPS) == GROUPS - 1
    assert degrees_of_freedom([0.0] * GROUPS) == GROUPS - 1
    assert degrees_of_freedom([1e-300] * GROUPS) == GROUPS - 1
    assert degrees_of_freedom([1.0] + [0.0] * (GROUPS - 1)) == 1
    assert degrees_of_freedom([1.0] * 4 + [0.0] * (GROUPS - 4)) == pytest.approx(0.6 * GROUPS / (GROUPS / 4 - 1))
    normal = [stats.norm.ppf((rank + 0.5) / GROUPS) ** 2 for rank in range(GROUPS)]
    assert 9 < degrees_of_freedom(normal) < GROUPS - 1


@pytest.mark.parametrize("carrying", range(1, GROUPS + 1))
def test_the_effective_number_of_groups_is_that_of_groups_with_as_much_each(carrying: int) -> None:
    assert effective([2.0] * carrying + [0.0] * (GROUPS - carrying)) == pytest.approx(carrying)


def test_what_a_few_groups_carry_has_no_interval_and_says_how_many() -> None:
    replicates = [4 + 0.001 * math.sin(group) for group in range(GROUPS)]
    assert interval(4.0, replicates) is not None
    few = [one + (0.03, 0.02)[group] if group < 2 else one for group, one in enumerate(replicates)]
    assert interval(4.0, few) is None
    assert re.findall(r"\d+", str(lack(few))) == ["3", "64"], "share of the documents, and of the variance"
    assert interval(4.0, few[:20]) is not None, "groups that are works of their own have a rule of their own"


def test_two_rows_that_differ_in_a_few_documents_have_intervals_and_no_paired_one() -> None:
    """Rows that cut all alike but digits: two documents of numbers carry the whole difference."""
    alike = [4 + 0.01 * math.sin(3 * group) for group in range(GROUPS)]
    few = [one + 0.002 * (group in (3, 20)) + 1e-5 * math.cos(group) for group, one in enumerate(alike)]
    a, b = (Measurement("m", 4.0, replicates=tuple(replicates)) for replicates in (alike, few))
    assert None not in (interval_of(a), interval_of(b))
    assert paired_interval(a, b) is None
    assert re.findall(r"\d+", str(paired_lack(a, b))) == ["6", "94"]


def replicates_of_ratio(pairs: list[tuple[float, float]]) -> tuple[float, list[float | None]]:
    top, bottom = (sum(values) for values in zip(*pairs, strict=True))
    return top / bottom, [(top - a) / (bottom - b) for a, b in pairs]


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = random.Random(7)
    covered = shown = 0
    for _ in range(1000):
        groups = []
        for _ in range(GROUPS):
            bottom = generator.uniform(50, 150)
            groups.append((4 * bottom + generator.gauss(0, 10), bottom))
        value, replicates = replicates_of_ratio(groups)
        if (bounds := interval(value, replicates)) is not None:
            shown += 1
            covered += bounds[0] <= 4 <= bounds[1]
    assert shown > 950
    assert 0.93 <= covered / shown <= 0.98


def heavy_tailed(generator: random.Random) -> list[tuple[float, float]]:
    """Sums of 32 groups of 4 documents: a few are far larger than the others, and unlike them. The ratio is 4.5."""
    groups = []
    for _ in range(GROUPS):
        logs = [generator.gauss(0, 1) for _ in range(4)]  # weighted by size, their mean is 1
        densities = [4 + 0.5 * log + generator.gauss(0, 0.3) for log in logs]
        sizes = list(map(math.exp, logs))
        groups.append((sum(size * density for size, density in zip(sizes, densities, strict=True)), sum(sizes)))
    return groups


def test_of_documents_of_very_unequal_size_few_intervals_are_shown_that_mislead() -> None:
    generator = random.Random(11)
    plain = covered = shown = 0
    for _ in range(1000):
        value, replicates = replicates_of_ratio(heavy_tailed(generator))
        squares = [((one or 0) - fmean(one or 0 for one in replicates)) ** 2 for one in replicates]
        plain += abs(value - 4.5) <= T_QUANTILES[-1] * math.sqrt(31 / 32 * sum(squares))
        if (bounds := interval(value, replicates)) is not None:
            shown += 1
            covered += bounds[0] <= 4.5 <= bounds[1]
    assert plain < 910, "with 31 degrees of freedom whatever the groups, this is too narrow"
    assert 100 < shown < 500
    assert shown - covered <= 50, "one sample in twenty at most has an interval that does not hold"


def test_few_groups_give_no_interval() -> None:
    assert interval(1.0, [1.0] * (MIN_GROUPS - 1) + [None] * 17) is None
    assert interval(None, [1.0] * GROUPS) is None


def test_pairs_are_narrower_than_two_intervals() -> None:
    generator = random.Random(3)
    bytes_of = [generator.uniform(1000, 9000) for _ in range(GROUPS)]
    density = [generator.uniform(3, 5) for _ in range(GROUPS)]
    a = [(size, size / d) for size, d in zip(bytes_of, density, strict=True)]
    b = [(size, size / (d * 1.003)) for size, d in zip(bytes_of, density, strict=True)]
    first, second = (Measurement("m", v, replicates=tuple(r)) for v, r in map(replicates_of_ratio, (a, b)))
    difference, alone = paired_interval(first, second), interval(first.value, first.replicates)
    assert difference is not None
    assert alone is not None
    assert difference[0] > 0
    assert difference[1] - difference[0] < (alone[1] - alone[0]) / 20


def test_median_interval_holds_its_level() -> None:
    for count in range(6, 60):
        values = list(range(count))
        bounds = median_interval(values)
        assert bounds is not None
        below = int(bounds[0])  # ranks left out at each end
        assert 2 * stats.binom.cdf(below, count, 0.5) <= 0.05
        assert 2 * stats.binom.cdf(below + 1, count, 0.5) > 0.05
    assert median_interval([1, 2, 3, 4, 5]) is None


def test_median_and_percentiles() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    values = list(range(1, 101))
    assert [percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)] == [50, 90, 99, 100]
    assert percentile([5.0], 0.5) == 5.0
    assert math.isclose(percentile([1, 2], 0.5), 1)


@given(st.floats(1e-3, 1e9), st.floats(1e-4, 1), st.integers(0, 2**32))
def test_digits_that_are_not_kept_move_no_interval(value: float, spread: float, seed: int) -> None:
    draw = random.Random(seed)
    replicates = [value * (1 + spread * draw.gauss(0, 1) / GROUPS) for _ in range(GROUPS)]
    exact, kept = interval(value, replicates), interval(value, rounded(replicates))
    if exact is None or kept is None:  # too few of the groups carry the variance, which a digit may tip
        return
    width = exact[1] - exact[0]
    assert kept == pytest.approx(exact, abs=1e-3 * width)


def test_replicates_keep_nine_digits_and_whole_numbers_all() -> None:
    assert rounded([2 / 3, None, 123_456_789_012, 0.0]) == (0.666666667, None, 123_456_789_012, 0.0)


@pytest.mark.parametrize("replicates", [[0.0] * GROUPS, [0.1 + 0.2] * 20 + [0.3] * 12, [1.0] * 31 + [None]])
def test_replicates_without_spread_give_no_interval(replicates: list[float | None]) -> None:
    """A width of 0 says that nothing else can be; a constant has none, and of 0 of 100 another text may have 3."""
    assert interval(replicates[0], replicates) is None
    assert lack(replicates) == NO_SPREAD


def test_a_constant_has_its_replicates_and_says_why_it_has_no_interval() -> None:
    found = estimate("bytes_per_token", [4] * GROUPS, lambda _: 1.0)
    assert (found.value, found.replicates, found.no_interval) == (1.0, (1.0,) * GROUPS, NO_SPREAD)
    assert (interval_of(found), lack_of(found)) == (None, NO_SPREAD)
    older = replace(found, no_interval=None)
    assert (interval_of(older), lack_of(older)) == (None, NO_SPREAD)


def test_a_constant_and_a_row_that_varies_have_a_paired_interval() -> None:
    constant = Measurement("m", 1.0, replicates=(1.0,) * GROUPS, no_interval=NO_SPREAD)
    varied = Measurement("m", 2.0, replicates=tuple(2 + math.sin(group) / 100 for group in range(GROUPS)))
    low, high = paired_interval(constant, varied) or (0.0, 0.0)
    assert 0 < low < 1 < high
    assert paired_lack(constant, varied) is None
    assert (paired_interval(constant, constant), paired_lack(constant, constant)) == (None, NO_SPREAD)
    assert paired_lack(constant, Measurement("m", 1.0, no_interval="40 documents")) == "40 documents"


# ---------------------------------------------------------------------------------------------- unequal documents


def grouped(sizes: list[int], works: int | None = None) -> tuple[list[int], list[int]]:
    """Documents and bytes of every group; of ``works`` that follow each other, each falls into one group."""
    documents, total = [0] * GROUPS, [0] * GROUPS
    drawn = random.Random(5)
    places = [drawn.randrange(GROUPS) for _ in range(works or len(sizes))]
    for number, size in enumerate(sizes):
        group = places[number * len(places) // len(sizes)]
        documents[group] += 1
        total[group] += size
    return documents, total


def lognormal(spread: float, count: int) -> list[int]:
    drawn = random.Random(6)
    return [int(math.exp(drawn.gauss(8, spread))) for _ in range(count)]


@pytest.mark.parametrize(
    ("sizes", "works", "lacks"),
    [
        ([1000] * 64, None, False),
        (lognormal(0.5, 64), None, False),  # prose
        (lognormal(1.6, 100), None, True),  # code
        (lognormal(1.6, 3000), None, False),
        ([1000] * 300, 20, False),  # few works: groups differ as much in documents
        ([1000] * 99 + [60_000], None, True),
        ([0] * 64, None, False),
    ],
)
def test_documents_of_very_unequal_size_are_too_few(sizes: list[int], works: int | None, lacks: bool) -> None:
    said = unequal(*grouped(sizes, works))
    assert (said is not None) is lacks
    assert said is None or said.startswith(f"{len(sizes)} documents, so unequal ")


def test_a_text_that_lacks_an_interval_leaves_pairs_without_one_and_keeps_replicates() -> None:
    documents, sizes = grouped([1000] * 99 + [60_000])

    def rate(add: float) -> Callable[[NDArray[np.bool_]], float]:
        return lambda groups: add + math.sin(float(groups.nonzero()[0].sum())) / 100

    a, b = (estimate("bytes_per_token", documents, rate(add), sizes=sizes) for add in (4.0, 5.0))
    assert len(a.replicates) == GROUPS
    assert str(a.no_pair) == str(a.no_interval) == unequal(documents, sizes)
    assert (interval_of(a), paired_interval(a, b), paired_lack(a, b)) == (None, None, a.no_pair)
    alike = estimate("bytes_per_token_macro", documents, rate(4.0))
    assert (alike.no_pair, alike.no_interval) == (None, None), "each document counts alike"
    assert interval_of(alike) is not None
