"""Ids of documents laid end to end: where each part begins."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from pyharness.types import Tokens, offsets_of, vocabularies


@pytest.mark.parametrize(
    ("lengths", "offsets"),
    [([], [0]), ([0], [0, 0]), ([2, 0, 3], [0, 2, 2, 5]), (np.array([True, False, True]), [0, 1, 1, 2])],
)
def test_offsets_begin_at_zero_and_end_at_the_sum(lengths: list[int], offsets: list[int]) -> None:
    assert offsets_of(lengths).tolist() == offsets
    assert offsets_of(lengths).dtype == np.int64


def test_narrow_lengths_do_not_wrap() -> None:
    assert offsets_of(np.full(3, 255, np.uint8)).tolist() == [0, 255, 510, 765]
    assert offsets_of(np.array([2**31, 2**31], np.uint32)).tolist() == [0, 2**31, 2**32]


def test_tokens_from_lists() -> None:
    laid = Tokens.from_lists([[7, 8], [], [9]])
    assert (laid.ids.tolist(), laid.offsets.tolist()) == ([7, 8, 9], [0, 2, 2, 3])
    assert laid.document(0).tolist() == [7, 8]
    assert len(laid) == 3


def test_examples() -> None:
    assert doctest.testmod(vocabularies).attempted > 0
    assert doctest.testmod(vocabularies).failed == 0
