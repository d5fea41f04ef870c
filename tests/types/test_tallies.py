"""Counts of documents: one by one, or many at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyharness.types import Tally

documents = st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 1 << 40)), max_size=70)


@given(st.lists(documents, max_size=4), st.integers(0, 9), st.booleans())
def test_documents_counted_at_once_are_counted_one_by_one(
    batches: list[list[tuple[bytes, int]]], before: int, from_the_beginning: bool
) -> None:
    one_by_one, at_once = (
        Tally(before, digest=(1 << 128) - 1, beginnings=[] if from_the_beginning else None) for _ in range(2)
    )
    for batch in batches:
        for digest, size in batch:
            one_by_one.count(digest, size)
        digests = np.frombuffer(b"".join(digest for digest, _ in batch), np.uint8).reshape(-1, 16)
        at_once.count_all(digests, np.array([size for _, size in batch], np.int64))
    assert at_once == one_by_one
    assert at_once.beginnings == one_by_one.beginnings
