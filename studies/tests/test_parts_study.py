"""The arithmetic of the study of runs in parts."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.features.parts import looks
from shown import parts


def test_parts_are_ranges_of_bytes() -> None:
    pieces = np.array([[10, 10, 20, 5, 5, 30], [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    assert parts.divided(pieces, 4).tolist() == [[1 + 2, 3, 4 + 5 + 6, 0], [6 + 5, 4, 3 + 2 + 1, 0]]


def test_equal_rows_stop_at_the_second_look_and_hold() -> None:
    row = np.arange(1, 1001)
    share, held = parts.stop(row, 2 * row, 0.005)
    assert share == looks.sizes(1000)[1] / 1000
    assert held


def test_what_is_never_narrow_is_read_whole() -> None:
    row = np.ones(1000, np.int64)
    assert parts.stop(row, np.where(np.arange(1000) % 2, 1, 99), 0.005) == (1.0, True)


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
