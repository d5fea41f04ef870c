"""Signed ranks: against enumeration of all signs and SciPy, and how often they err where sides are exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pyharness.statistics.signed_ranks import FEWEST, LEVEL, signed_ranks


def slow(first: Sequence[int], second: Sequence[int]) -> float:
    """Two-sided p, from the definition: all ways to give the ranks signs are as likely."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    sizes = [Fraction(max(one), min(one)) if min(one) else Fraction(10**9) for one in pairs]
    above = [b > a for a, b in pairs]
    ranks = [Fraction(sum(two < one for two in sizes) * 2 + sum(two == one for two in sizes) + 1, 2) for one in sizes]

    def smaller(signs: Sequence[bool]) -> Fraction:
        up = sum((rank for rank, sign in zip(ranks, signs, strict=True) if sign), Fraction(0))
        return min(up, sum(ranks, Fraction(0)) - up)

    found = smaller(above)
    as_far = sum(smaller(signs) <= found for signs in product((False, True), repeat=len(ranks)))
    return as_far / int(2 ** len(ranks))


def test_p_is_that_of_all_signs_with_ties_equal_pairs_and_nothing_on_a_side() -> None:
    generator = np.random.default_rng(7)
    for count in (1, 2, 5, 6, 9, 11):
        for _ in range(10):
            first, second = generator.integers(0, 5, (2, count)).tolist()
            assert signed_ranks(first, second).p == pytest.approx(slow(first, second), abs=1e-12), (first, second)


@pytest.mark.parametrize("count", [40, 400])
def test_scipy_says_the_same(count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(count)
    first = generator.integers(10_000, 20_000, count)
    second = (first * np.exp(generator.normal(0.01, 0.04, count))).astype(np.int64)
    found = signed_ranks(first.tolist(), second.tolist())
    wanted = stats.wilcoxon(np.log(second / first), method="exact" if count < 50 else "approx").pvalue
    assert found.p == pytest.approx(wanted, rel=1e-2)
    assert found.sign == 1


def test_counted_and_by_the_normal_curve_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    first, second = generator.integers(900, 1100, (2, 250)).tolist()
    counted = signed_ranks(first, second).p
    monkeypatch.setattr("pyharness.statistics.signed_ranks._MOST_COUNTED", 10)
    assert signed_ranks(first, second).p == pytest.approx(counted, rel=0.01)


def test_it_decides_from_six_pairs_on_and_by_both_signs() -> None:
    for count in range(12):
        first = [100 + 10 * number for number in range(count)]
        worse, better = ([one + step for one in first] for step in (5, -5))
        found = signed_ranks(first, worse), signed_ranks(first, better)
        assert [one.decides for one in found] == [count >= FEWEST] * 2
        assert [one.sign for one in found] == ([1, -1] if count else [0, 0])
        assert not signed_ranks(first, first).decides


def test_the_ranks_decide_and_not_the_number_of_signs() -> None:
    first = [1000] * 12
    second = [1500, 1501, 1502, 1503, 1504, *[999, 998, 997, 996, 995, 994, 993]]
    assert signed_ranks(first, second).sign == 1


def test_it_errs_at_most_at_its_level_where_sides_are_exchanged() -> None:
    """Documents of very unequal size, whose sides change places by the toss of a coin."""
    generator = np.random.default_rng(11)
    first = np.exp(generator.normal(6, 2, 22)).astype(np.int64) + 10
    second = (first * np.exp(generator.standard_t(2, 22) * 0.2)).astype(np.int64) + 1
    erred = 0
    for _ in range(1000):
        coins = generator.random(22) < 0.5
        erred += signed_ranks(np.where(coins, first, second), np.where(coins, second, first)).decides
    assert erred / 1000 <= LEVEL + 0.02
