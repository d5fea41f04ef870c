"""The sample of documents does not depend on order, and merges."""

from __future__ import annotations

import hashlib
import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyharness.metrics.counting.sampling import DocumentSample
from pyharness.types import Ids

DOCUMENTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=40)


def sample_of(documents: list[tuple[int, int]], cap: int) -> DocumentSample[Ids]:
    sample: DocumentSample[Ids] = DocumentSample(cap)
    for name, length in documents:
        # One content has one digest and one length.
        digest = hashlib.blake2b(f"{name}/{length}".encode(), digest_size=16).digest()
        sample.add(digest, f"{name}/{length}".rjust(length + 8), np.full(length, name, np.uint32))
    return sample


def texts_of(sample: DocumentSample[Ids]) -> list[str]:
    return [text for text, _ in sample.documents()]


def expected(documents: list[tuple[int, int]], cap: int) -> list[str]:
    by_digest = {hashlib.blake2b(f"{n}/{k}".encode(), digest_size=16).digest(): (n, k) for n, k in documents}
    taken, total = [], 0
    for digest in sorted(by_digest):
        name, length = by_digest[digest]
        total += length + 8
        if total > cap:
            break
        taken.append(f"{name}/{length}".rjust(length + 8))
    return taken


@given(DOCUMENTS, st.integers(0, 300), st.randoms(use_true_random=False))
def test_is_the_longest_front_by_digest_whatever_the_order(
    documents: list[tuple[int, int]], cap: int, generator: random.Random
) -> None:
    want = expected(documents, cap)
    assert texts_of(sample_of(documents, cap)) == want
    generator.shuffle(documents)
    assert texts_of(sample_of(documents, cap)) == want


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 300))
def test_merging_is_sampling_the_union(a: list[tuple[int, int]], b: list[tuple[int, int]], cap: int) -> None:
    merged = sample_of(a, cap)
    merged.merge(sample_of(b, cap))
    assert texts_of(merged) == expected(a + b, cap)
    assert merged.bytes == sum(map(len, texts_of(merged)))
    assert merged.is_too_small == (bool(a + b) and not texts_of(merged))
