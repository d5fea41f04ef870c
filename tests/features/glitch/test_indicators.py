"""Indicators against their definitions, and planted untrained rows against what is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from checkpoints.planted import DTYPES, FRACTIONS, KINDS, PlantedRows
from pyharness.features.glitch import indicators
from pyharness.features.glitch.indicators import UnusedIds, find_valley, measure_rows
from pyharness.features.glitch.matrices import IdMatrices
from pyharness.features.language_models.folder import ModelFolder
from pyharness.metrics.reachability import Verdict
from pyharness.types import InputError, Unsupported, Vocabulary

SETTINGS = list(zip((64, 256, 32, 768), (*DTYPES, "BF16"), FRACTIONS, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "dtype", "fraction"), SETTINGS)
def test_planted_rows_are_found_and_others_are_not(
    tmp_path: Path, kind: str, width: int, dtype: str, fraction: float
) -> None:
    planted = PlantedRows.draw(kind, 2000, width, fraction, seed=1)
    path = planted.write(tmp_path / "model", dtype)
    matrices = IdMatrices.of(ModelFolder.read(str(path), path), len(planted.rows))
    assert matrices.tied is planted.tied
    tested = np.ones(len(planted.rows), np.bool_)
    measured = measure_rows(matrices, UnusedIds(planted.unused, "given"), tested)
    share, wrong = planted.shares(measured.candidates(tested))
    assert share >= 0.99
    assert wrong <= 0.01


def test_rows_that_do_not_differ_give_no_threshold(tmp_path: Path) -> None:
    planted = PlantedRows.draw("near zero", 500, 16, 0.01, seed=0)
    rows = np.where(planted.planted[:, None], planted.rows * 1e6, planted.rows)
    path = PlantedRows(rows, planted.planted, planted.unused, tied=False).write(tmp_path / "model", "F32")
    matrices = IdMatrices.of(ModelFolder.read(str(path), path), 500)
    measured = measure_rows(matrices, UnusedIds(planted.unused, "given"), np.ones(500, np.bool_))
    assert measured.threshold is None
    assert not len(measured.candidates(np.ones(500, np.bool_)))


@given(seed=st.integers(0, 10_000), others=st.integers(0, 4000), stop=st.floats(2.2, 5.0))
def test_a_valley_is_between_rows_like_unused_ones_and_the_others(seed: int, others: int, stop: float) -> None:
    rng = np.random.default_rng(seed)
    levels, bulk = rng.normal(1, 0.02, 13), rng.uniform(1.7, 9, 4000)
    like_unused = rng.normal(1, 0.02, others)
    valley = find_valley(np.concatenate((levels, like_unused, bulk)), levels, stop)
    assert max(np.concatenate((levels, like_unused))) < valley < 1.7


@given(seed=st.integers(0, 10_000), spread=st.floats(0.01, 0.3))
def test_rows_without_a_gap_have_no_valley(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.normal(1, spread, 13)
    assert find_valley(np.concatenate((levels, rng.uniform(0.5, 3, 4000))), levels, 2.0) == np.inf
    assert find_valley(levels, levels, 0.5) == np.inf
    assert find_valley(np.append(levels[:12], 9.0), levels[:12], 5.0) == np.inf


@given(seed=st.integers(0, 1000), width=st.integers(1, 9), rows=st.integers(2, 30))
def test_numbers_are_those_of_the_definitions(
    tmp_path_factory: pytest.TempPathFactory, seed: int, width: int, rows: int
) -> None:
    table = np.random.default_rng(seed).standard_normal((rows, width)).astype("<f4").astype(np.float64)
    table[0] = 0
    path = PlantedRows(table, np.zeros(rows, np.bool_), np.arange(2), tied=True).write(
        tmp_path_factory.mktemp("model") / "m", "F32"
    )
    matrix = IdMatrices.of(ModelFolder.read(str(path), path), rows).entry
    direction = table[: min(3, rows)].mean(axis=0)
    np.testing.assert_allclose(indicators.norms_of(matrix), [float(np.linalg.norm(row)) for row in table], atol=1e-12)
    expected = [_cosine_distance(row, direction) for row in table]
    np.testing.assert_allclose(indicators.distances_of(matrix, direction), expected, atol=1e-9)


def _cosine_distance(row: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Of the original: 1 - cosine, with a product of norms of at least 1e-6."""
    product = sum(a * b for a, b in zip(row.tolist(), other.tolist(), strict=True))
    norms = [sum(a * a for a in one.tolist()) ** 0.5 for one in (row, other)]
    return float(1 - product / max(norms[0] * norms[1], 1e-6))


def test_unused_ids_are_taken_in_their_order() -> None:
    tokens = {0: b"a", 1: b"\xf5", 2: b"\xc0", 4: b"bc", 5: b"b"}
    verdicts = np.array([0, 0, 0, 0, Verdict.MERGE_UNREACHABLE, 0], np.uint8)
    vocabulary = Vocabulary.from_tokens(tokens, {})
    assert UnusedIds.of(vocabulary, verdicts, 7).ids.tolist() == [1, 2]
    assert UnusedIds.of(vocabulary, verdicts, 7, "4+0-1").ids.tolist() == [0, 1, 4]
    bare = Vocabulary.from_tokens({0: b"a", 2: b"c"}, {})
    assert UnusedIds.of(bare, verdicts[:3], 4).ids.tolist() == [1, 3]
    whole = Vocabulary.from_tokens({0: b"a", 1: b"ab"}, {})
    assert UnusedIds.of(whole, np.array([0, Verdict.MERGE_UNREACHABLE], np.uint8), 2).ids.tolist() == [1]
    assert not len(UnusedIds.of(whole, np.zeros(2, np.uint8), 2).ids)


@pytest.mark.parametrize("given_ids", ["7-7", "7", "x", "3-1", "1-", "-1", "1++2", "1 2", "9999999999"])
def test_ids_that_are_none_are_refused(given_ids: str) -> None:
    vocabulary = Vocabulary.from_tokens({0: b"a"}, {})
    with pytest.raises(InputError, match="unused"):
        UnusedIds.of(vocabulary, np.zeros(1, np.uint8), 7, given_ids)


def test_tied_matrices_need_unused_ids(tmp_path: Path) -> None:
    path = PlantedRows.draw("tied", 50, 8, 0.1, seed=0).write(tmp_path / "model", "F32")
    matrices = IdMatrices.of(ModelFolder.read(str(path), path), 50)
    with pytest.raises(Unsupported, match="unused"):
        measure_rows(matrices, UnusedIds(np.zeros(0, np.int64), "none known"), np.ones(50, np.bool_))
