"""The arithmetic of the study of runs in parts."""

from __future__ import annotations

import numpy as np
import pytest

import part_files as parts
from pyharness.features.parts import passes
from pyharness.types import State


@pytest.mark.parametrize("index", [0, 7])
def test_a_part_is_renamed_and_keeps_its_counts(index: int) -> None:
    arrays: State = {
        "pairs documents digests": np.zeros((3, 16), np.uint8),
        "pairs documents threshold": np.zeros((0, 16), np.uint8),
        "words documents threshold": np.zeros((0, 16), np.uint8),
        "words documents counts": np.zeros((2, 4), np.uint8),
        "ids keys": np.zeros(5, np.uint64),
        "tally": np.ones(3, np.uint64),
    }
    about = dict.fromkeys(passes.ABOUT, np.zeros(3, np.int64))
    changed = parts.renamed({**passes.in_planes(arrays), **about}, index, 9)
    assert changed["part"].tolist() == [index, 9, passes.FORM]
    plain = passes.of_planes({name: array for name, array in changed.items() if name not in passes.ABOUT})
    rows = [bytes(row) for row in plain["pairs documents digests"]]
    assert rows == sorted(set(rows))
    assert bytes(plain["words documents threshold"]) == rows[2]
    assert plain["tally"].tolist() == [1, 1, 1]
