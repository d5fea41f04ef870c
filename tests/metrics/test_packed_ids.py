"""Ids as places among the distinct ones: they come back, and what contradicts itself is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.metrics.counting.state_arrays import ids_of, of_ids
from pyharness.types import InputError


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 1 << 18)), max_size=60))
def test_ids_come_back(ids: list[int]) -> None:
    arrays = of_ids(np.array(ids, np.uint32), "x")
    assert ids_of(arrays, "x", (1 << 18) + 1).tolist() == ids
    counts = [ids.count(one) for one in arrays["x types"].tolist()]
    assert counts == sorted(counts, reverse=True)
    assert set(arrays["x types"].tolist()) == set(ids)


FORGED = {
    "an id too large": {"x types": np.array([300])},
    "a negative id": {"x types": np.array([-1])},
    "a place behind the last": {"x places": np.array([0, 1])},
    "a negative place": {"x places": np.array([-1])},
    "no id at all": {"x types": np.zeros(0, np.uint8)},
}


@pytest.mark.parametrize("forgery", FORGED)
def test_contradictions(forgery: str) -> None:
    arrays = of_ids(np.array([7, 7], np.uint32), "x") | FORGED[forgery]
    with pytest.raises(InputError, match="vocabulary"):
        ids_of(arrays, "x", 256)
