"""Digests of ids: any change is seen and found again, and batches, order and shards change nothing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyharness.metrics.counting import id_digests
from pyharness.metrics.counting.id_digests import BLOCK, IdDifference, IdDigests, first_difference, kept_of
from pyharness.types import InputError, Tokens, digest_of

SOME_IDS = st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 3), max_size=9)
IDS = st.builds(lambda ids, times: ids * times, SOME_IDS, st.integers(1, BLOCK // 3))
DOCUMENTS = st.lists(IDS, max_size=4)
FEW = settings(max_examples=40)


def digested(documents: Sequence[Sequence[int]], names: Sequence[str] | None = None, batch: int = 100) -> IdDigests:
    names = [str(number) for number in range(len(documents))] if names is None else names
    digests = IdDigests()
    for start in range(0, len(documents), batch):
        part = Tokens.from_lists(documents[start : start + batch])
        digests.add([digest_of(name) for name in names[start : start + batch]], part)
    return digests


def found(a: IdDigests, b: IdDigests) -> IdDifference | None:
    return first_difference(kept_of(a.arrays()), kept_of(b.arrays()))


def plainly(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> tuple[int, int] | None:
    """First document that differs, and the first of its ids: the slow way."""
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        if list(one) != list(other):
            pairs = enumerate(itertools.zip_longest(one, other))
            return number, next(place for place, (mine, theirs) in pairs if mine != theirs)
    return None


def block_digest(ids: Sequence[int]) -> int:
    """The slow reference."""
    return sum(token * int(factor) for token, factor in zip(ids, id_digests._FACTORS, strict=False)) % (1 << 32)


@FEW
@given(DOCUMENTS)
def test_blocks_are_what_the_reference_says(documents: list[list[int]]) -> None:
    blocks = [block_digest(ids[start : start + BLOCK]) for ids in documents for start in range(0, len(ids), BLOCK)]
    arrays = digested(documents).arrays()
    assert arrays["ids blocks"].tolist() == blocks
    assert arrays["ids lengths"].tolist() == list(map(len, documents))


@FEW
@given(DOCUMENTS, st.integers(1, 7), st.randoms())
def test_batches_and_order_change_nothing(documents: list[list[int]], batch: int, dice: random.Random) -> None:
    whole, parts = digested(documents), digested(documents, batch=batch)
    assert (whole.total, whole.documents) == (parts.total, parts.documents)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, parts.arrays()[name])
    order = list(range(len(documents)))
    dice.shuffle(order)
    shuffled = digested([documents[number] for number in order], [str(number) for number in order])
    assert shuffled.total == whole.total
    assert found(whole, shuffled) is None


@FEW
@given(DOCUMENTS, st.lists(st.integers(0, 6), max_size=2))
def test_shards_merge_to_the_whole(documents: list[list[int]], cuts: list[int]) -> None:
    names = [str(number) for number in range(len(documents))]
    ends = [0, *sorted(cuts), len(documents)]
    merged = IdDigests()
    for start, stop in itertools.pairwise(ends):
        merged.merge(digested(documents[start:stop], names[start:stop]))
    whole = digested(documents)
    assert merged.total == whole.total
    assert all(np.array_equal(array, merged.arrays()[name]) for name, array in whole.arrays().items())


@FEW
@given(DOCUMENTS.filter(any), st.data())
def test_a_change_is_found_where_it_is(documents: list[list[int]], data: st.DataObject) -> None:
    changed = [list(ids) for ids in documents]
    ids = data.draw(st.sampled_from([ids for ids in changed if ids]))
    kind = data.draw(st.sampled_from(["another", "swap", "cut", "longer"]))
    place = data.draw(st.integers(0, len(ids) - 1))
    if kind == "another":
        ids[place] ^= 1 << data.draw(st.integers(0, 31))
    elif kind == "swap":
        other = data.draw(st.integers(0, len(ids) - 1))
        ids[place], ids[other] = ids[other] % (1 << 26), ids[place] % (1 << 26)
    elif kind == "cut":
        del ids[place:]
    else:
        ids.append(0)
    before, after, where = digested(documents), digested(changed), plainly(documents, changed)
    assert (before.total != after.total) == (where is not None)
    difference = found(before, after)
    if where is None:
        assert difference is None
        return
    assert difference is not None
    assert difference.document == where[0]
    assert difference.token <= where[1] <= difference.last_token < difference.token + BLOCK
    assert (difference.documents, difference.compared) == (1, len(documents))


def test_every_swap_within_a_block_is_seen() -> None:
    ids = list(range(1000, 1000 + BLOCK))
    swaps = itertools.combinations(range(BLOCK), 2)
    swapped = []
    for one, other in swaps:
        changed = list(ids)
        changed[one], changed[other] = changed[other], changed[one]
        swapped.append(changed)
    assert block_digest(ids) not in set(map(block_digest, swapped))


def test_every_bit_of_every_id_of_a_block_counts() -> None:
    changed = [[0] * place + [1 << bit] for place in range(BLOCK) for bit in range(32)]
    assert 0 not in set(map(block_digest, changed))


def test_what_is_kept_is_bounded_and_the_digest_is_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_digests, "MOST_BYTES", 100)
    documents = [[number] for number in range(10)]  # 16 bytes each: six of them
    digests = digested(documents)
    assert digests.arrays()["ids keys"].nbytes + 8 * 6 <= 100
    assert len(digests.arrays()["ids keys"]) == 6
    late = digested([*documents[:9], [77]])
    assert late.total != digests.total
    assert found(digests, late) is None, "behind what is kept"
    early = digested([*documents[:5], [77], *documents[6:]])
    assert found(digests, early) == IdDifference(5, 0, 0, 1, 6)
    for batch in (1, 3):
        assert np.array_equal(digested(documents, batch=batch).arrays()["ids keys"], digests.arrays()["ids keys"])
    large = digested([[1] * 5000, [2]])
    assert len(large.arrays()["ids keys"]) == 0, "none behind one that does not fit"
    for first in (large, IdDigests()):
        first.merge(large)
        first.merge(digested([[3]], ["3"]))
        assert len(first.arrays()["ids keys"]) == 0


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("ids keys", np.zeros(3, np.uint64)),
        ("ids keys", np.zeros((2, 1), np.uint64)),
        ("ids lengths", np.array([1, -1])),
        ("ids lengths", np.array([1, 1 << 40])),
        ("ids lengths", np.array([(1 << 64) - 1, 2], np.uint64)),
        ("ids lengths", np.array([65, 1])),
        ("ids blocks", np.zeros(1, np.uint32)),
        ("ids blocks", None),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, array: NDArray[Any] | None) -> None:
    arrays = digested([[1], [2]]).arrays()
    kept_of(arrays)
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    with pytest.raises(InputError):
        kept_of(arrays)
