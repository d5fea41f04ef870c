"""One way to group documents: every item once, in order, and no batch beyond its bounds."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from pyharness.corpora.streaming import batches


@given(st.lists(st.integers(0, 9)), st.none() | st.integers(1, 20), st.none() | st.integers(1, 5))
def test_batches_are_the_items_and_end_where_a_bound_is_reached(
    sizes: list[int], size: int | None, count: int | None
) -> None:
    groups = list(batches(sizes, size=size, count=count, size_of=int))
    assert [item for group in groups for item in group] == sizes
    for number, group in enumerate(groups):
        full = [n for n in range(1, len(group) + 1) if n == count or (size is not None and sum(group[:n]) >= size)]
        assert full in ([], [len(group)])
        assert full or number == len(groups) - 1


def test_nothing_beyond_the_batch_is_taken() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    assert next(batches(items(), count=3)) == [0, 1, 2]
    assert taken == [0, 1, 2]


def test_a_size_is_asked_once_and_only_where_it_bounds() -> None:
    asked: list[int] = []

    def size_of(item: int) -> int:
        asked.append(item)
        return 1

    assert list(batches(range(4), count=3, size_of=size_of)) == [[0, 1, 2], [3]]
    assert asked == []
    assert list(batches(range(4), size=3, size_of=size_of)) == [[0, 1, 2], [3]]
    assert asked == [0, 1, 2, 3]


def test_the_examples_hold() -> None:
    assert doctest.testmod(sys.modules[batches.__module__]).failed == 0
