"""Cuts of numbers: against loops over the digits of each text."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.segmentation.metrics.numbers import SUMS, counts, measure
from pyharness.features.segmentation.metrics.units import UnitCounts
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import Segments

Drawn = tuple[str, list[int] | None]


@st.composite
def cut_texts(draw: st.DrawFn) -> list[Drawn]:
    drawn: list[Drawn] = []
    for text in draw(st.lists(st.text("0189 aé:", max_size=40), max_size=6)):
        size = len(text.encode())
        ends = sorted(draw(st.sets(st.integers(1, max(size - 1, 1)), max_size=20)) | {size}) if size else []
        drawn.append((text, None if draw(st.integers(0, 7)) == 0 else [end for end in ends if end <= size]))
    return drawn


def reference(text: str, ends: list[int] | None) -> list[int]:
    """Numbers, aligned ones, pairs and alike ones of one text."""
    if ends is None:
        return [0, 0, 0, 0]
    found = [one.span() for one in re.finditer(rb"(?<![0-9])[0-9]{4,63}(?![0-9])", text.encode())]
    inside = [[end - start for end in ends if start < end < stop] for start, stop in found]
    aligned = [set(range((stop - start) % 3 or 3, stop - start, 3)) <= set(cut)
               for (start, stop), cut in zip(found, inside, strict=True)]  # fmt: skip
    pairs = alike = 0
    for length in {stop - start for start, stop in found}:
        same = [(text.encode()[start:stop], cut) for (start, stop), cut in zip(found, inside, strict=True)
                if stop - start == length]  # fmt: skip
        for (digits, cut), (next_digits, next_cut) in pairwise(same):
            pairs += digits != next_digits
            alike += digits != next_digits and cut == next_cut
    return [len(found), sum(aligned), pairs, alike]


@given(cut_texts())
def test_counts_are_those_of_a_loop(drawn: list[Drawn]) -> None:
    found = counts([text.encode() for text, _ in drawn], Segments.from_lists([ends for _, ends in drawn]))
    assert np.array([found[name] for name in SUMS]).T.tolist() == [reference(*one) for one in drawn]


@pytest.mark.parametrize("digits", [3, 4, 6, 7, 63, 64])
def test_groups_of_three_from_either_side(digits: int) -> None:
    number = "1" * digits
    right = [*range(digits % 3 or 3, digits, 3), digits]
    left = [*range(3, digits, 3), digits]
    expected = int(4 <= digits <= 63)
    for ends, aligned in (
        (right, expected),
        (left, expected and digits % 3 == 0),
        (list(range(1, digits + 1)), expected),
    ):
        found = counts([number.encode()], Segments.from_lists([ends]))
        assert [found[name].tolist() for name in SUMS[:2]] == [[expected], [int(aligned)]]


def test_shares_of_numbers_have_no_interval() -> None:
    """A few documents may have all numbers: of 100, one with a single number gave 0 or 1 and a width of 0."""
    passed = UnitCounts()
    texts = [f"{1000 + 7 * number} {2000 + number}" for number in range(128)]
    ends = [[1, 4, 5, 6, 9] if number % 2 else [2, 4, 5, 7, 9] for number in range(128)]
    groups = np.arange(128, dtype=np.uint8) % GROUPS
    passed.update(texts, Segments.from_lists(ends), groups, np.ones(128, np.bool_))
    alignment, consistency = passed.measurements()[-2:]
    assert (alignment.value, consistency.value) == (0.5, 1.0)
    assert (alignment.replicates, consistency.replicates) == ((), ())
    assert alignment.no_interval
    assert consistency.no_interval


def test_no_numbers_no_share() -> None:
    none = dict.fromkeys(SUMS, np.zeros(GROUPS, np.int64))
    reasons = [one.reason for one in measure(none)]
    assert [one.value for one in measure(none)] == [None, None]
    assert [re.findall("no (number|text)", str(reason)) for reason in reasons] == [["number"], ["text"]]
