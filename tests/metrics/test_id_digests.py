"""Digests of ids: any change is seen and found again, and batches, order and shards change nothing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from layout.thoroughness import examples
from oracles import id_digests as slow
from pyharness.metrics.counting import id_digests
from pyharness.metrics.counting.id_digests import (
    BLOCK,
    IdDifference,
    IdDigests,
    first_difference,
    kept_of,
    paired_lengths,
)
from pyharness.metrics.counting.state import Facts
from pyharness.types import InputError, Tokens, Vocabulary, digest_of

SOME_IDS = st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 3), max_size=9)
IDS = st.builds(lambda ids, times: ids * times, SOME_IDS, st.integers(1, BLOCK // 3))
DOCUMENTS = st.lists(IDS, max_size=4)
FEW = settings(max_examples=examples(40))


def digested(
    documents: Sequence[Sequence[int]],
    names: Sequence[str] | None = None,
    batch: int = 100,
    vocabulary: Vocabulary | None = None,
    wholes: Sequence[str] | None = None,
) -> IdDigests:
    names = [str(number) for number in range(len(documents))] if names is None else names
    digests = IdDigests.of(Facts(0, np.ones(0, np.bool_), vocabulary, lossy=False))
    for start in range(0, len(documents), batch):
        part = Tokens.from_lists(documents[start : start + batch])
        units = None if wholes is None else [digest_of(whole) for whole in wholes[start : start + batch]]
        digests.add([digest_of(name) for name in names[start : start + batch]], part, units)
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


@FEW
@given(DOCUMENTS)
def test_what_is_kept_is_what_the_reference_says(documents: list[list[int]]) -> None:
    arrays = digested(documents).arrays()
    keys = [int.from_bytes(digest_of(str(number))[:8], "little") for number in range(len(documents))]
    assert arrays["ids keys"].tolist() == keys
    assert arrays["ids blocks"].tolist() == [block for ids in documents for block in slow.blocks(ids)]
    assert arrays["ids lengths"].tolist() == list(map(len, documents))
    assert arrays["ids digest"].tolist() == [slow.total(documents, keys), len(documents)]
    assert "ids bytes" not in arrays, "of a hidden vocabulary"


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
        assume(max(ids[place], ids[other]) < 1 << 26)  # what is promised is of these
        ids[place], ids[other] = ids[other], ids[place]
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
    assert slow.block_digest(ids) not in set(map(slow.block_digest, swapped))


def test_every_bit_of_every_id_of_a_block_counts() -> None:
    changed = [[0] * place + [1 << bit] for place in range(BLOCK) for bit in range(32)]
    assert 0 not in set(map(slow.block_digest, changed))


@pytest.mark.parametrize("length", [1, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("kind", ["another", "cut", "longer"])
def test_a_change_is_found_in_the_bytes_where_it_is(length: int, kind: str) -> None:
    vocabulary = Vocabulary.from_tokens({token: b"x" * (token % 4) for token in range(9)}, {})
    ids = (np.arange(length) % 9).tolist()
    for place in sorted({0, 1, 62, 63, 64, 65, 127, 128, length - 1} & set(range(length))):
        changed = {
            "another": [*ids[:place], (ids[place] + 1) % 9, *ids[place + 1 :]],
            "cut": ids[:place],
            "longer": [*ids[:place], *ids[place:], 1],
        }[kind]
        first = length if kind == "longer" else place
        sides = [digested([[1, 1], [], one, [2]], vocabulary=vocabulary) for one in (ids, changed)]
        for a, b in (sides, sides[::-1]):
            difference = found(a, b)
            assert difference is not None
            assert difference.document == 2
            start = BLOCK * (first // BLOCK)
            assert difference.token == start
            longest = max(sum(token % 4 for token in one[start : start + BLOCK]) for one in (ids, changed))
            before = sum(token % 4 for token in ids[:start])
            assert difference.text == range(before, before + longest)


def test_where_one_side_is_too_old_to_keep_bytes_the_other_says_them() -> None:
    vocabulary = Vocabulary.from_tokens({1: b"one", 2: b"two!"}, {})
    new, old = digested([[1] * 70], vocabulary=vocabulary), digested([[1] * 69 + [2]])
    for a, b, expected in ((new, old, range(192, 210)), (old, new, range(192, 210)), (old, digested([[1] * 70]), None)):
        difference = found(a, b)
        assert difference is not None
        assert difference.text == expected


def test_what_is_kept_is_bounded_and_the_digest_is_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_digests, "MOST_BYTES", 120)
    documents = [[number] for number in range(10)]  # 20 bytes each: six of them
    digests = digested(documents)
    assert digests.arrays()["ids keys"].nbytes + 12 * 6 <= 120
    assert len(digests.arrays()["ids keys"]) == 6
    late = digested([*documents[:9], [77]])
    assert late.total != digests.total
    assert found(digests, late) is None, "behind what is kept"
    early = digested([*documents[:5], [77], *documents[6:]])
    assert found(digests, early) == IdDifference(5, 0, 0, None, 1, 6)
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
        ("ids units", np.zeros(3, np.uint64)),
        ("ids lengths", np.array([1, -1])),
        ("ids lengths", np.array([1, 1 << 40])),
        ("ids lengths", np.array([(1 << 64) - 1, 2], np.uint64)),
        ("ids lengths", np.array([65, 1])),
        ("ids blocks", np.zeros(1, np.uint32)),
        ("ids blocks", None),
        ("ids blocks", np.array([1, -1])),
        ("ids bytes", np.zeros(1, np.uint8)),
        ("ids bytes", np.array([1, 1 << 32])),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, array: NDArray[Any] | None) -> None:
    arrays = digested([[1], [2]], vocabulary=Vocabulary.from_tokens({1: b"one"}, {})).arrays()
    assert arrays["ids bytes"].tolist() == [3, 0]
    kept_of(arrays)
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    with pytest.raises(InputError):
        kept_of(arrays)


def test_ids_need_not_lie_end_to_end_in_memory() -> None:
    ids = np.arange(300, dtype=np.uint32)
    strided = Tokens(ids[::3], np.array([0, 30, 100]))
    packed = Tokens(ids[::3].copy(), strided.offsets)
    totals = []
    for tokens in (strided, packed):
        digests = IdDigests()
        digests.add([digest_of("a"), digest_of("b")], tokens)
        totals.append(digests.total)
    assert totals[0] == totals[1]


@FEW
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 70), st.integers(0, 70)), max_size=8), st.integers(1, 8))
def test_lengths_are_added_up_by_what_texts_are_a_part_of(texts: list[tuple[int, int, int]], batch: int) -> None:
    """In any batches, in another order on the other side, and of two shards."""
    names, wholes = [str(number) for number in range(len(texts))], [f"work {work}" for work, *_ in texts]
    sides = [[[1] * lengths[side] for lengths in texts] for side in (1, 2)]
    first = digested(sides[0], names, batch, wholes=wholes)
    half = len(texts) // 2
    second = digested(sides[1][half:], names[half:], batch, wholes=wholes[half:])
    second.merge(digested(sides[1][:half], names[:half], batch, wholes=wholes[:half]))
    if not texts:
        return
    expected = sorted(
        tuple(sum(one[side] for one in texts if one[0] == work) for side in (1, 2))
        for work in {one[0] for one in texts}
    )
    assert sorted(map(tuple, paired_lengths(first.arrays(), second.arrays()).T.tolist())) == expected


def test_lengths_that_are_not_all_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, names = [[number] for number in range(10)], [str(number) for number in range(10)]
    whole = digested(documents, wholes=names).arrays()
    for other, why in (
        (digested(documents), "older pyharness"),
        (digested([*documents, [1]], wholes=[*names, "10"]), "not the same"),
    ):
        with pytest.raises(InputError, match=why):
            paired_lengths(whole, other.arrays())
    monkeypatch.setattr(id_digests, "MOST_BYTES", 120)
    with pytest.raises(InputError, match="first 4 of 10 texts"):
        paired_lengths(whole, digested(documents, wholes=names).arrays())
