"""Rows that are told apart over all pairs at once: how often equal ones are, what has power, and a slow reference."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.statistics import family
from pyharness.statistics.family import agreed, bound, clear, needs_clarity, parts_of, told_apart
from pyharness.statistics.jackknife import GROUPS, paired_interval
from pyharness.types import Measurement

Counts = list[list[int]]  # [rows][GROUPS]


def table(
    generator: np.random.Generator, rows: int, documents: int, spread: float = 1.0, better: float = 0.0
) -> tuple[list[Measurement], Counts]:
    """Rows on made-up documents, whose sizes have ``spread``; the first half has ``better`` more, as a share."""
    sizes = np.exp(generator.normal(7, spread, documents))
    rates = np.exp(generator.normal(0, 0.3, documents)[:, None] + generator.normal(0, 0.1, (documents, rows)))
    tokens = np.ceil(sizes[:, None] * rates / 4).astype(np.int64)
    tokens[:, : rows // 2] = tokens[:, : rows // 2] / (1 + better)
    return summed(sizes, tokens, generator)


def summed(
    sizes: NDArray[np.float64],
    tokens: NDArray[Any],
    generator: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> tuple[list[Measurement], Counts]:
    """Rows whose documents fall into groups by chance, unless these are given; ``tokens`` [documents, rows]."""
    groups = generator.integers(0, GROUPS, len(sizes)) if groups is None else groups
    byte = np.bincount(groups, sizes, GROUPS)
    counts = np.stack([np.bincount(groups, of, GROUPS) for of in tokens.T]).astype(np.int64)
    held = np.bincount(groups, minlength=GROUPS) > 0
    measured = [
        Measurement(
            "bytes_per_token",
            float(byte.sum() / of.sum()),
            replicates=tuple(
                float((byte.sum() - byte[group]) / (of.sum() - of[group])) if held[group] else None
                for group in range(GROUPS)
            ),
        )
        for of in counts
    ]
    return measured, counts.tolist()


@pytest.mark.parametrize(("rows", "documents", "spread"), [(2, 64, 1.0), (5, 64, 2.0), (12, 64, 1.0), (12, 500, 2.0)])
def test_of_equal_rows_few_tables_have_any_told_apart(rows: int, documents: int, spread: float) -> None:
    generator, tables = np.random.default_rng(20261124), 300
    drawn = [table(generator, rows, documents, spread) for _ in range(tables)]
    share = np.mean([told_apart(parts_of(*one)).any() for one in drawn])
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / tables)


def test_rows_that_a_rare_large_document_makes_equal_are_seldom_told_apart() -> None:
    """One document of 150 is 40 times as large and makes up for all others; a third of samples of 150 lack it.

    An interval knows nothing of it. A difference that has to be clear is seldom one of these.
    """
    generator, tables = np.random.default_rng(20261128), 300
    told, agree = np.zeros((2, tables), np.bool_)
    for place in range(tables):
        sizes = np.exp(generator.normal(7, 1.2, 150))
        large = generator.random(150) < 1 / 150
        rates = np.exp(generator.normal(0, 0.06, (150, 2)))
        rates[:, 0] *= np.where(large, 0.79, 1.07)
        sizes[large] = 40 * math.exp(7 + 1.2**2 / 2)
        groups = generator.integers(0, GROUPS, 150)
        (a, b), counts = summed(sizes, sizes[:, None] * rates, generator, groups)
        documents, size = np.bincount(groups, minlength=GROUPS), np.bincount(groups, sizes, GROUPS).astype(int)
        parts = parts_of([a, b], counts)
        told[place] = told_apart(parts)[0, 1] and excludes_zero(a, b)
        agree[place] = not needs_clarity(documents.tolist(), size.tolist()) or clear(parts)[0, 1]
    assert told.mean() > 0.1
    assert (told & agree).mean() <= 0.05


@pytest.mark.parametrize(
    ("documents", "sizes", "expected"),
    [
        pytest.param([9] * 32, [900] * 32, False, id="alike"),
        pytest.param([9] * 32, [900] * 31 + [9000], True, id="one group of ten times the size"),
        pytest.param([9] * 32, [900, 1300] * 16, False, id="weigh as more than 256"),
        pytest.param([1] * 31 + [10], [900] * 31 + [9000], False, id="few works: as many documents as bytes"),
        pytest.param([0] * 32, [0] * 32, False, id="nothing"),
    ],
)
def test_text_whose_differences_have_to_be_clear(documents: list[int], sizes: list[int], expected: bool) -> None:
    assert needs_clarity(documents, sizes) is expected


def test_an_interval_of_each_pair_would_tell_equal_rows_apart() -> None:
    generator = np.random.default_rng(2)
    found = [table(generator, 12, 100)[0] for _ in range(40)]
    assert np.mean([any(excludes_zero(a, b) for a, b in combinations(rows, 2)) for rows in found]) > 0.4


def excludes_zero(a: Measurement, b: Measurement) -> bool:
    interval = paired_interval(a, b)
    return interval is not None and not interval[0] <= 0 <= interval[1]


def test_groups_taken_for_equal_would_tell_rows_apart() -> None:
    """What the shares are for: with documents of very unequal size, a third of tables and more."""
    generator = np.random.default_rng(3)
    drawn = [table(generator, 12, 64, 2.0)[0] for _ in range(60)]
    alike = [[1] * GROUPS] * 12
    assert np.mean([told_apart(parts_of(one, alike)).any() for one in drawn]) > 0.3


def test_of_rows_equal_over_several_texts_few_tables_have_any_told_apart() -> None:
    """The texts of a table share their groups, and one of them is there twice: that is not twice the evidence."""
    generator, tables = np.random.default_rng(12), 200
    told = 0
    for _ in range(tables):
        texts = [parts_of(*table(generator, 8, documents)) for documents in (64, 100, 300)]
        told += bool(told_apart(np.mean([*texts, texts[0]], axis=0)).any())
    assert told / tables <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / tables)


def test_rows_that_differ_are_told_apart_from_those_that_do_not() -> None:
    generator = np.random.default_rng(4)
    found = [told_apart(parts_of(*table(generator, 12, 500, better=0.1))) for _ in range(40)]
    assert all(told[:6, 6:].all() for told in found)
    assert sum(told[:6, :6].any() or told[6:, 6:].any() for told in found) <= 6  # of 40: 2, and three errors


def test_it_is_what_the_definition_says() -> None:
    measured, counts = table(np.random.default_rng(5), 4, 40, 1.5)
    parts = parts_of(measured, counts)
    logs = [math.log(one.value or 0) for one in measured]
    shares = [sum(counts[row][group] / sum(counts[row]) for row in range(4)) / 4 for group in range(GROUPS)]
    for row, one in enumerate(measured):
        for group, without in enumerate(one.replicates):
            own = 0.0 if without is None else logs[row] - math.log(without)
            beside = logs[row] - sum(logs) / 4
            assert parts[row, group] == pytest.approx((1 - shares[group]) * own + shares[group] * beside, abs=1e-12)

    def statistic(a: int, b: int, signs: list[float]) -> float:
        differences = [sign * (x - y) for sign, x, y in zip(signs, *parts[[a, b]].tolist(), strict=True)]
        return abs(math.fsum(differences)) / math.sqrt(math.fsum(one**2 for one in differences))

    pairs = [(a, b) for a in range(4) for b in range(a)]
    largest = sorted(max(statistic(a, b, signs) for a, b in pairs) for signs in family._signs().tolist())
    assert bound(parts) == pytest.approx(largest[1899])
    told = told_apart(parts)
    assert [bool(told[a, b]) for a, b in pairs] == [statistic(a, b, [1.0] * GROUPS) > largest[1899] for a, b in pairs]


def test_signs_are_balanced_and_the_same_everywhere() -> None:
    signs = family._signs()
    assert signs.shape == (family.CHANGES, GROUPS)
    assert np.abs(signs.mean(axis=0)).max() < 0.1
    assert np.abs(np.corrcoef(signs.T) - np.eye(GROUPS)).max() < 0.12
    assert signs[0].astype(int).tolist()[:8] == [-1, -1, 1, 1, -1, -1, -1, 1]


def test_what_all_rows_share_does_not_matter() -> None:
    measured, counts = table(np.random.default_rng(6), 6, 100)
    parts = parts_of(measured, counts)
    shifted = parts + np.random.default_rng(7).normal(0, 10, GROUPS)
    assert (told_apart(parts) == told_apart(shifted)).all()
    assert bound(parts) == pytest.approx(bound(shifted))


def test_the_same_numbers_are_one_and_numbers_without_spread_are_two() -> None:
    measured, counts = table(np.random.default_rng(8), 2, 100)
    assert not told_apart(parts_of([measured[0], measured[0]], [counts[0]] * 2)).any()
    fixed = [Measurement("bytes_per_token", value, replicates=(value,) * GROUPS) for value in (1.0, 2.0)]
    assert told_apart(parts_of(fixed, counts))[0, 1]


@pytest.mark.parametrize("rows", [1, 2])
def test_few_rows(rows: int) -> None:
    measured, counts = table(np.random.default_rng(9), rows, 100)
    assert told_apart(parts_of(measured, counts)).shape == (rows, rows)


def test_many_rows_are_judged_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of(*table(np.random.default_rng(10), 20, 100, better=0.2))
    at_once = told_apart(parts)
    monkeypatch.setattr(family, "_AT_ONCE", 1000)
    assert (told_apart(parts) == at_once).all()


@pytest.mark.parametrize(("against", "empty", "expected"), [(0, 0, True), (1, 0, True), (2, 0, False), (1, 16, True)])
def test_groups_agree_where_all_but_one_with_documents_say_the_same(against: int, empty: int, expected: bool) -> None:
    differences = np.full(GROUPS, 0.01)
    differences[:against] = -5.0  # however much
    differences[GROUPS - empty :] = 0.0
    shared = np.random.default_rng(11).normal(0, 1, GROUPS).round(3)
    found = agreed(np.stack([shared, shared + differences, shared]))
    assert found.tolist() == [[False, expected, False], [expected, False, expected], [False, expected, False]]


@pytest.mark.parametrize(
    ("against", "difference", "expected"),
    [
        pytest.param(0, 0.02, True, id="all agree"),
        pytest.param(1, 0.02, False, id="one does not"),
        pytest.param(9, 0.12, True, id="more than a tenth"),
    ],
)
def test_a_difference_is_clear_where_all_groups_agree_or_it_is_large(
    against: int, difference: float, expected: bool
) -> None:
    parts = np.full(GROUPS, (difference + 0.001 * against) / (GROUPS - against))
    parts[:against] = -0.001
    shared = np.random.default_rng(11).normal(0, 1, GROUPS).round(3)
    found = clear(np.stack([shared, shared + parts, shared]))
    assert found.tolist() == [[False, expected, False], [expected, False, expected], [False, expected, False]]
