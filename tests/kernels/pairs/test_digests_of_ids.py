"""Digests of ids are those of the definition, to the last bit, and of nothing but the documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles import id_digests as slow
from pyharness.kernels import DigestedIds, id_digests
from pyharness.types import Tokens

LAST = (1 << 32) - 1
LENGTHS = (0, 1, 63, 64, 65, 127, 128, 129, 300)
FEW = settings(max_examples=examples(60))


@st.composite
def some_documents(draw: st.DrawFn) -> list[list[int]]:
    lengths = draw(st.lists(st.sampled_from(LENGTHS) | st.integers(0, 200), max_size=5))
    dice = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    highest = draw(st.sampled_from([1, 300, 1 << 20, LAST]))
    return [dice.integers(0, highest, length, np.uint32, endpoint=True).tolist() for length in lengths]


def digested(documents: list[list[int]], keys: list[int] | None = None, sizes: Any = None) -> DigestedIds:
    tokens = Tokens.from_lists(documents)
    keys = list(range(len(documents))) if keys is None else keys
    return id_digests(tokens.ids, tokens.offsets, np.array(keys, np.uint64), sizes)


@FEW
@given(some_documents(), st.data())
def test_digests_are_those_of_the_definition(documents: list[list[int]], data: st.DataObject) -> None:
    key = st.integers(0, (1 << 64) - 1)
    keys = data.draw(st.lists(key, min_size=len(documents), max_size=len(documents)))
    found = digested(documents, keys)
    assert found.blocks.tolist() == [block for ids in documents for block in slow.blocks(ids)]
    assert found.total == slow.total(documents, keys)
    assert found.bytes is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_ISA", "portable")
        portable = digested(documents, keys)
    assert (portable.total, portable.blocks.tolist()) == (found.total, found.blocks.tolist())


@FEW
@given(some_documents())
def test_bytes_are_those_of_the_ids_of_a_block(documents: list[list[int]]) -> None:
    sizes = np.array([3, 0, 1, 65_535], np.uint16)
    parts = [ids[start : start + 64] for ids in documents for start in range(0, len(ids), 64)]
    expected = [sum(int(sizes[one]) for one in part if one < len(sizes)) for part in parts]
    found = digested(documents, sizes=sizes)
    assert found.bytes is not None
    assert found.bytes.tolist() == expected
    assert np.array_equal(found.blocks, digested(documents).blocks)


def test_records_that_are_kept_can_be_compared() -> None:
    """Numbers of the first version that wrote digests: another definition would tell old records from new ones."""
    documents = [list(range(200)), [], [LAST] * 70, [7]]
    found = digested(documents, [1, 2, LAST << 32, 0])
    assert found.total == 3513274001077457722
    assert found.blocks.tolist() == [4090440736, 1343835168, 2892196896, 2669008308, 579786624, 1091664988, 786733063]


@pytest.mark.parametrize("length", LENGTHS[1:])
@pytest.mark.parametrize("bit", [0, 31])
def test_one_id_that_is_another_changes_its_block_alone(length: int, bit: int) -> None:
    ids = np.random.default_rng(length).integers(0, LAST, length, np.uint32, endpoint=True)
    before = digested([[5], ids.tolist(), [6]])
    for place in sorted({0, 1, 62, 63, 64, 65, length // 2, length - 2, length - 1} & set(range(length))):
        changed = ids.copy()
        changed[place] ^= np.uint32(1 << bit)
        after = digested([[5], changed.tolist(), [6]])
        assert after.total != before.total
        assert np.flatnonzero(after.blocks != before.blocks).tolist() == [1 + place // 64]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.uint16, np.float64])
def test_ids_of_another_type_are_refused(dtype: type) -> None:
    with pytest.raises(TypeError, match=f"ids.*uint32.*{np.dtype(dtype)}"):
        id_digests(np.zeros(3, dtype), np.array([0, 3]), np.zeros(1, np.uint64))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": np.zeros(8, np.uint32)[::2]}, "ids .*contiguous"),
        ({"ids": np.zeros((2, 2), np.uint32)}, "ids .*dimension"),
        ({"offsets": np.array([0, 3])}, r"offsets .* 4\b"),
        ({"offsets": np.array([1, 4])}, r"offsets .* 0\b"),
        ({"offsets": np.array([0, 5, 4])}, r"offsets\[2\] = 4"),
        ({"offsets": np.zeros(0, np.int64)}, "offsets .*one value"),
        ({"keys": np.zeros(2, np.uint64)}, r"keys .* 1\b"),
        ({"token_bytes": np.zeros((1, 1), np.uint16)}, "token_bytes"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    right = {"ids": np.zeros(4, np.uint32), "offsets": np.array([0, 4]), "keys": np.zeros(1, np.uint64)}
    assert id_digests(**right).blocks.tolist() == [0]
    with pytest.raises(ValueError, match=message):
        id_digests(**{**right, **changed})
