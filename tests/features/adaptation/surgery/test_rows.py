"""The rows that a plan makes of a matrix, to the byte, in blocks of any size."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyharness.features.adaptation import id_maps
from pyharness.features.adaptation.surgery import rows
from pyharness.features.adaptation.surgery.initialisation import PlanRequest, plan_of_map
from pyharness.features.adaptation.surgery.rows import PlannedRows, StoredMatrix
from pyharness.features.language_models.weights_file import StoredTensor

OLD, WIDTH = 6, 3
MATRIX = np.arange(1, OLD * WIDTH + 1, dtype="<f4").reshape(OLD, WIDTH) ** 2


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "matrix"
    path.write_bytes(MATRIX.tobytes())
    return path


def new_rows(file: Path, targets: list[int], block: int) -> NDArray[np.float32]:
    """New rows where old row ``r`` goes to row ``targets[r]``, or nowhere (-1); other rows are the mean."""
    moved = id_maps.load(json.dumps(targets).encode(), "map", OLD)
    plan = plan_of_map(moved, PlanRequest(rows=OLD, checkpoint="0" * 64, method="mean"))
    with file.open("rb") as opened, mock.patch.object(rows, "BLOCK", block):
        matrix = StoredMatrix(opened.fileno(), StoredTensor("w", "F32", MATRIX.shape, 0, MATRIX.nbytes))
        return np.frombuffer(b"".join(PlannedRows(plan, matrix, 0).blocks()), "<f4").reshape(-1, WIDTH)


@given(
    order=st.permutations(range(OLD + 3)),
    dropped=st.lists(st.booleans(), min_size=OLD, max_size=OLD),
    block=st.sampled_from([1, 30, 1 << 20]),
)
def test_a_copied_row_is_the_old_one_and_any_other_the_mean(
    file: Path, order: list[int], dropped: list[bool], block: int
) -> None:
    targets = [-1 if drop else new for new, drop in zip(order, dropped, strict=False)]
    if max(targets) < 0:
        targets[0] = 1
    made = new_rows(file, targets, block)
    mean = MATRIX.astype(np.float64).mean(axis=0).astype("<f4")
    for row, numbers in enumerate(made):
        np.testing.assert_array_equal(numbers, MATRIX[targets.index(row)] if row in targets else mean)


def test_old_row_0_follows_a_new_row(file: Path) -> None:
    """A computed row and old row 0 are not one run."""
    np.testing.assert_array_equal(new_rows(file, [1, 2, 3, 4, 5, 6], 1 << 20)[1:], MATRIX)
