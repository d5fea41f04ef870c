"""One row relative to another over several texts: values, what has none, and how often intervals hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.statistics.family import Overall, overall
from pyharness.statistics.jackknife import GROUPS, estimate
from pyharness.types import Measurement

Documents = NDArray[np.float64]  # [documents, 3]: bytes, tokens of A, tokens of B


def drawn(generator: np.random.Generator, documents: int, ratio: float) -> Documents:
    """Documents of one kind; on all of the kind, bytes per token of B are ``ratio`` times those of A."""
    size = np.exp(generator.normal(7, 1, documents))
    both, own = generator.normal(0, 0.3, documents), generator.normal(0, 0.1, (documents, 2))
    rates = np.exp(both[:, None] + own - 0.05)
    return np.stack([size, size * rates[:, 0] / 4, size * rates[:, 1] / 4 / ratio], axis=1)


def measured(documents: Documents, groups: NDArray[np.int64]) -> tuple[Measurement, Measurement]:
    sums = np.stack([np.bincount(groups, one, GROUPS) for one in documents.T], axis=1)
    held = np.bincount(groups, minlength=GROUPS)
    rates = [lambda kept, column=column: float(sums[kept, 0].sum() / sums[kept, column].sum()) for column in (1, 2)]
    first, second = (estimate("bytes_per_token", held.tolist(), rate) for rate in rates)
    return first, second


def held(generator: np.random.Generator, ratios: list[float], sizes: list[int], shared: int = 0) -> bool | None:
    """Whether an interval covers the ratio over all texts, of which each has its first documents from one pool.

    None where a few documents decide it, so that there is none.
    """
    pool = drawn(generator, max(shared, 1), ratios[0])[:shared]
    pool_groups = generator.integers(0, GROUPS, shared)
    pairs = []
    for ratio, size in zip(ratios, sizes, strict=True):
        documents = np.concatenate([pool, drawn(generator, size - shared, ratio)])
        groups = np.concatenate([pool_groups, generator.integers(0, GROUPS, size - shared)])
        pairs.append(measured(documents, groups))
    found = overall(pairs)
    assert found is not None
    if found.interval is None:
        return None
    low, high = found.interval
    return low <= math.exp(np.mean(np.log(ratios))) <= high


@pytest.mark.parametrize(
    ("ratios", "sizes", "shared"),
    [
        ([1.02], [150], 0),
        ([1.1, 0.95, 1.3], [100, 150, 300], 0),
        ([1.05] * 4, [100, 120, 140, 160], 90),  # nearly one text four times: not four times the evidence
    ],
)
def test_intervals_hold(ratios: list[float], sizes: list[int], shared: int) -> None:
    generator = np.random.default_rng(20261123)
    shown = [one for one in (held(generator, ratios, sizes, shared) for _ in range(400)) if one is not None]
    assert len(shown) > 100
    assert 0.92 <= np.mean(shown) <= 0.99  # 0.95, and three standard errors of 400 draws


def test_texts_taken_for_independent_would_not_hold() -> None:
    """What the joint jackknife is for: shared documents, each text with groups of its own, cover too seldom."""
    generator = np.random.default_rng(7)
    covered = shown = 0
    for _ in range(200):
        documents = drawn(generator, 120, 1.05)
        pairs = [measured(documents, generator.integers(0, GROUPS, 120)) for _ in range(4)]
        found = overall(pairs)
        assert found is not None
        if found.interval is not None:
            shown += 1
            covered += found.interval[0] <= 1.05 <= found.interval[1]
    assert shown > 50
    assert covered < 0.9 * shown


def test_one_text_is_the_ratio_of_its_values() -> None:
    pair = measured(drawn(np.random.default_rng(5), 200, 1.5), np.arange(200) % GROUPS)
    found = overall([pair])
    assert found is not None
    assert pair[0].value is not None
    assert pair[1].value is not None
    assert found.ratio == pytest.approx(pair[1].value / pair[0].value)
    again = overall([(pair[1], pair[0])])
    assert again is not None
    assert again.interval is not None
    assert found.interval == pytest.approx([1 / again.interval[1], 1 / again.interval[0]])


def test_a_row_beside_itself_is_not_told_apart() -> None:
    first, _ = measured(drawn(np.random.default_rng(1), 200, 1.5), np.arange(200) % GROUPS)
    found = overall([(first, first)] * 3)
    assert found == Overall(1.0, None)


@pytest.mark.parametrize("value", [None, 0.0, -1.0])
def test_without_a_positive_value_there_is_none(value: float | None) -> None:
    good = Measurement("bytes_per_token", 2.0)
    assert overall([(good, good), (good, Measurement("bytes_per_token", value))]) is None
    assert overall([]) is None


def test_a_text_without_an_interval_leaves_all_without() -> None:
    pair = measured(drawn(np.random.default_rng(1), 200, 1.5), np.arange(200) % GROUPS)
    bare = Measurement("bytes_per_token", 2.0, no_interval="2 documents")
    found = overall([pair, (bare, bare)])
    assert found is not None
    assert found.interval is None
    unequal = replace(pair[0], no_pair="64 documents")
    found = overall([pair, (unequal, pair[1])])
    assert found is not None
    assert found.interval is None
