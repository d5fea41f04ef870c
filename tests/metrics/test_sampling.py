"""The sample of documents does not depend on order, and merges."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.metrics.counting.sampling import DocumentSample
from pyharness.types import InputError, State

DOCUMENTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=40)


def sample_of(documents: list[tuple[int, int]], cap: int) -> DocumentSample[str]:
    sample: DocumentSample[str] = DocumentSample(cap)
    for name, length in documents:
        # One content has one digest and one length.
        digest = hashlib.blake2b(f"{name}/{length}".encode(), digest_size=16).digest()
        text = f"{name}/{length}".rjust(length + 8)
        sample.add(digest, len(text), text)
    return sample


def texts_of(sample: DocumentSample[str]) -> list[str]:
    return sample.documents()


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
def test_of_a_batch_it_wants_what_it_wants_one_by_one(
    known: list[tuple[int, int]], documents: list[tuple[int, int]], cap: int
) -> None:
    sample = sample_of(known, cap)
    digests = [hashlib.blake2b(f"{n}/{k}".encode(), digest_size=16).digest() for n, k in documents]
    wanted = sample.wanted(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16))
    assert wanted == {digest: digests.index(digest) for digest in digests if sample.wants(digest)}


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 300))
def test_merging_is_sampling_the_union(a: list[tuple[int, int]], b: list[tuple[int, int]], cap: int) -> None:
    merged = sample_of(a, cap)
    merged.merge(sample_of(b, cap))
    assert texts_of(merged) == expected(a + b, cap)
    assert merged.bytes == sum(map(len, texts_of(merged)))
    assert merged.is_too_small == (bool(a + b) and not texts_of(merged))


def restored(sample: DocumentSample[str], cap: int) -> DocumentSample[str]:
    again: DocumentSample[str] = DocumentSample(cap)
    again.restore("of it", sample.arrays("of it"), sample.documents())
    return again


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 300))
def test_a_restored_sample_goes_on(a: list[tuple[int, int]], b: list[tuple[int, int]], cap: int) -> None:
    first = restored(sample_of(a, cap), cap)
    first.merge(restored(sample_of(b, cap), cap))
    whole = sample_of(a + b, cap)
    assert texts_of(first) == texts_of(whole)
    assert (first.bytes, first.is_too_small) == (whole.bytes, whole.is_too_small)
    for name, array in first.arrays("of it").items():
        assert np.array_equal(array, whole.arrays("of it")[name]), name


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays | {"of it digests": arrays["of it digests"][::-1]},
        lambda arrays: arrays | {"of it digests": arrays["of it digests"][:, :8]},
        lambda arrays: arrays | {"of it sizes": arrays["of it sizes"] + 100},
        lambda arrays: arrays | {"of it sizes": arrays["of it sizes"][:1]},
        lambda arrays: arrays | {"of it threshold": arrays["of it digests"][:1]},
        lambda arrays: {name: array for name, array in arrays.items() if name != "of it threshold"},
    ],
)
def test_damaged_arrays_are_refused(change: Callable[[State], State]) -> None:
    sample = sample_of([(1, 2), (2, 3), (3, 4)], 60)
    again: DocumentSample[str] = DocumentSample(60)
    with pytest.raises(InputError):
        again.restore("of it", change(sample.arrays("of it")), sample.documents())
