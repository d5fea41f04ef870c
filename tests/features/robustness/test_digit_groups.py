"""Cuts of numbers: slow references, SciPy, worked examples and figures of TokEval's own code."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.features.robustness.drawn_numbers import (
    MOST_DIGITS,
    Side,
    cut_of,
    entropy,
    ideal_cut,
    pieces,
    rank_correlation,
    scores,
)
from pyharness.tokenizers.segmenting import segmenter_of

SIDES: tuple[Side, ...] = ("right", "left")
cuts = st.integers(1, 20).flatmap(lambda digits: st.tuples(st.just(digits), st.integers(0, (1 << (digits - 1)) - 1)))


def groups(digits: int, side: Side) -> set[int]:
    """Places between groups of three, from the written number."""
    written = "d" * digits
    parts = re.findall(r".{1,3}", written[::-1] if side == "right" else written)
    sizes = [len(part) for part in (parts[::-1] if side == "right" else parts)]
    return {sum(sizes[:count]) for count in range(1, len(sizes))}


def places(cut: int) -> set[int]:
    return {place for place in range(1, MOST_DIGITS) if cut >> (place - 1) & 1}


@given(cuts, st.sampled_from(SIDES))
def test_scores_are_those_of_sets_of_places(drawn: tuple[int, int], side: Side) -> None:
    digits, cut = drawn
    actual, ideal = places(cut), groups(digits, side)
    assert places(ideal_cut(digits, side)) == ideal
    right = len(actual & ideal)
    precision, recall = right / len(actual) if actual else 1.0, right / len(ideal) if ideal else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    numbers = [float(one[0]) for one in scores(np.array([cut]), np.array([digits]), side)]
    assert numbers == pytest.approx([precision, recall, f1])
    assert pieces(np.array([cut])).tolist() == [len(actual) + 1]


@pytest.mark.parametrize("side", SIDES)
def test_rows_whose_scores_are_known(side: Side) -> None:
    digits = np.arange(1, 13)
    ideals = np.array([ideal_cut(count, side) for count in digits.tolist()])
    assert [one.min() for one in scores(ideals, digits, side)] == [1, 1, 1]
    assert scores((1 << (digits - 1)) - 1, digits, side)[1].min() == 1  # single digits
    assert scores(np.zeros(12, np.int64), digits, side)[2].tolist() == [1.0] * 3 + [0.0] * 9  # whole numbers


# TokEval's table of what is vacuous, and its worked examples (DigitBoundaryMetrics).
@pytest.mark.parametrize(
    ("digits", "places_cut", "f1"),
    [(7, (1, 4), 1), (7, (4,), 2 / 3), (7, (2, 5), 0), (7, (), 0), (2, (), 1), (2, (1,), 0)],
)
def test_worked_examples_of_tokeval(digits: int, places_cut: tuple[int, ...], f1: float) -> None:
    cut = sum(1 << (place - 1) for place in places_cut)
    assert scores(np.array([cut]), np.array([digits]), "right")[2][0] == pytest.approx(f1)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_entropy_is_the_sum_over_shares(drawn: list[int]) -> None:
    shares = [count / len(drawn) for count in Counter(drawn).values()]
    assert entropy(np.array(drawn)) == pytest.approx(-sum(share * math.log2(share) for share in shares), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=20))
def test_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = np.array(pairs).T
    if len(set(first.tolist())) == 1 or len(set(second.tolist())) == 1:
        assert rank_correlation(first, second) is None
    else:
        assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second)[0])


@given(st.sets(st.integers(1, 19)), st.integers(0, 9), st.integers(1, 9))
def test_a_cut_has_a_bit_for_each_end_inside(ends: set[int], start: int, digits: int) -> None:
    inside = {end - start for end in ends if start < end < start + digits}
    assert places(cut_of(np.array(sorted(ends), np.int64), start, digits)) == inside


TEXTS = (
    "7 of 1234567", "in 1999 and 2024-03-17", "x=12345678, y = 0.000001", "100000 + 65536 = 165536",
    "31415926535 (9 digits: 271828182)",
)  # fmt: skip
# Of TokEval's own code on ``TEXTS``: mean precision, recall and F1, and the entropies of lengths that vary.
TOKEVAL = {
    "gpt2": (0.5888888888888889, 0.4666666666666667, 0.46, {6: 1.584962500721156, 4: 0.0}),
    "gpt_neox": (0.6222222222222222, 0.4, 0.4044444444444445, {6: 0.9182958340544896, 4: 1.0}),
}


@pytest.mark.data
@pytest.mark.parametrize("row", TOKEVAL)
def test_scores_are_those_of_tokeval(row: str, data: Path) -> None:
    path = data / "tokenizers" / row / "tokenizer.json"
    segments = segmenter_of(tokenizers.load(f"file:{path}")).segment_batch(TEXTS)
    rows = [
        (cut_of(segments.document(index), match.start(), len(match[0])), len(match[0]))
        for index, text in enumerate(TEXTS)
        for match in re.finditer(r"\d+", text)
    ]
    actual, digits = np.array(rows).T
    *means, entropies = TOKEVAL[row]
    assert [float(one.mean()) for one in scores(actual, digits, "right")] == pytest.approx(means, rel=1e-14)
    for length, bits in entropies.items():
        assert entropy(actual[digits == length]) == pytest.approx(bits, rel=1e-14)
