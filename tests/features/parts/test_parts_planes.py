"""Arrays of a part lie in planes of bytes, and come back as they were; what is no plane is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray

from pyharness.features.parts.passes import in_planes, of_planes
from pyharness.types import InputError

SHAPES = st.tuples(st.integers(0, 7)) | st.tuples(st.integers(0, 7), st.integers(1, 5))
DTYPES = arrays_of.integer_dtypes(endianness="<") | arrays_of.unsigned_integer_dtypes(endianness="<")


@given(st.dictionaries(st.text(max_size=5), arrays_of.arrays(DTYPES, SHAPES), max_size=3))
def test_arrays_come_back(arrays: dict[str, NDArray[Any]]) -> None:
    planes = in_planes(arrays)
    assert {one.dtype for one in planes.values()} <= {np.dtype(np.uint8)}
    found = of_planes(planes)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(found[name], array)
        assert found[name].flags.c_contiguous


def test_bytes_of_one_place_lie_together() -> None:
    (planes,) = in_planes({"a": np.array([0x0102, 0x0304], np.uint16)}).values()
    assert planes.tolist() == [[2, 4], [1, 3]]


@pytest.mark.parametrize(
    ("name", "planes"),
    [
        ("a u", np.zeros(3, np.uint8)),
        ("a u", np.zeros((3, 2), np.uint8)),
        ("a u", np.zeros((0, 2), np.uint8)),
        ("a i", np.zeros((2, 2), np.int8)),
        ("a i", np.zeros((1, 2, 2, 2), np.uint8)),
        ("a f", np.zeros((4, 2), np.uint8)),
        ("", np.zeros((4, 2), np.uint8)),
    ],
)
def test_what_is_no_plane_is_refused(name: str, planes: NDArray[Any]) -> None:
    with pytest.raises(InputError, match="planes"):
        of_planes({name: planes})
