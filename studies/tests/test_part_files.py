"""The arithmetic of the study of runs in parts."""

from __future__ import annotations

import numpy as np
import pytest

import part_files as parts


@pytest.mark.parametrize("index", [0, 7])
def test_a_part_is_renamed_and_keeps_its_counts(index: int) -> None:
    digests = np.zeros((3, 16), np.uint8)
    arrays = dict.fromkeys(parts.KEYS[:2], digests) | {parts.KEYS[2]: np.zeros(5, np.uint64)}
    arrays |= {f"{name} documents threshold": np.zeros((0, 16), np.uint8) for name in ("pairs", "words")}
    changed = parts.renamed({**arrays, "tally": np.ones(3)}, index, 9)
    assert changed["part"].tolist() == [index, 9]
    rows = [bytes(row) for row in changed[parts.KEYS[0]]]
    assert rows == sorted(set(rows))
    assert changed["tally"].tolist() == [1, 1, 1]
