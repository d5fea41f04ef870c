"""Cosine transform and its rounding: vectors, the slow reference, scipy, and the bound on the error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles.actions import fast as oracle
from pyharness.features.actions.codecs.bins import BinCodec
from pyharness.features.actions.codecs.fast import chunk_of, coefficients, cosine_transform, inverse_cosine_transform
from pyharness.features.actions.codecs.quantiles import Quantiles

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
UNIT = (-1.0, 1.0)


def unit_quantiles(dimensions: int) -> Quantiles:
    """Quantiles that leave values as they are."""
    return Quantiles(np.full(dimensions, UNIT[0]), np.full(dimensions, UNIT[1]))


@pytest.mark.parametrize("vector", VECTORS["fast"], ids=lambda vector: str(vector["name"]))
def test_vectors(vector: dict[str, Any]) -> None:
    chunk, scale, expected = np.array(vector["input"]["chunk"]), vector["input"]["scale"], vector["expected"]
    numbers = coefficients(chunk, scale)
    assert numbers.tolist() == expected["quantised_row_major"]
    assert np.maximum(numbers - expected["min"], 0).tolist() == expected["symbols"]
    np.testing.assert_allclose(chunk_of(numbers, len(chunk), scale), expected["decoded"], rtol=0, atol=1e-12)
    codec = BinCodec(unit_quantiles(chunk.shape[1]), 256)
    assert codec.encode(codec.quantised(chunk)).tolist() == expected["naive_256_bins"]


def test_500_random_chunks_are_those_of_the_reference_and_of_scipy() -> None:
    random = np.random.default_rng(14)
    for _ in range(500):
        frames, dimensions = int(random.integers(1, 40)), int(random.integers(1, 6))
        scale = float(random.choice([1, 5, 10, 50]))
        chunk = np.cumsum(random.normal(size=(frames, dimensions)), axis=0) * 0.2
        made = cosine_transform(chunk)
        np.testing.assert_allclose(made, scipy.fft.dct(chunk, axis=0, norm="ortho"), rtol=0, atol=1e-11)
        np.testing.assert_allclose(inverse_cosine_transform(made), chunk, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            inverse_cosine_transform(chunk), scipy.fft.idct(chunk, axis=0, norm="ortho"), rtol=0, atol=1e-11
        )
        numbers = coefficients(chunk, scale)
        assert numbers.tolist() == oracle.quantised(chunk.tolist(), scale)
        np.testing.assert_allclose(
            chunk_of(numbers, frames, scale), np.array(oracle.restored(numbers.tolist(), frames, scale)), atol=1e-10
        )


def test_halves_are_rounded_to_even() -> None:
    chunk = np.array([[0.05, 0.15, 0.25, -0.05, -0.15]])  # of one frame, whose coefficients are its values
    assert coefficients(chunk, 10).tolist() == [0, 2, 2, 0, -2]


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 48), st.integers(1, 8), st.sampled_from([1.0, 3.0, 10.0, 100.0]), st.integers(0, 1 << 32))
def test_a_chunk_is_within_half_a_step_of_every_coefficient(frames: int, dims: int, scale: float, seed: int) -> None:
    chunk = np.random.default_rng(seed).normal(size=(frames, dims)) * 2
    error = np.linalg.norm(chunk_of(coefficients(chunk, scale), frames, scale) - chunk)
    assert error <= np.sqrt(frames * dims) / (2 * scale) * (1 + 1e-9)


def test_the_bound_on_the_error_is_reached() -> None:
    """Were the bound smaller by a hundredth, this chunk would be against it."""
    chunk = inverse_cosine_transform(np.full((8, 3), 0.5 - 1e-9) / 10)
    error = np.linalg.norm(chunk_of(coefficients(chunk, 10), 8, 10) - chunk)
    assert error == pytest.approx(np.sqrt(24) / 20, rel=1e-6)


def test_quantiles_are_those_of_numpy_and_come_back() -> None:
    random = np.random.default_rng(3)
    frames = random.normal(size=(500, 4)) * [1, 10, 1e-3, 1e5] + [0, 5, 1, -1e6]
    quantiles = Quantiles.of(frames)
    made = quantiles.normalised(frames)
    assert ((made >= -1) & (made <= 1)).mean(axis=0) == pytest.approx(np.full(4, 0.98), abs=0.005)
    np.testing.assert_allclose(quantiles.restored(made), frames, rtol=1e-12, atol=1e-9)


def test_a_dimension_without_spread_keeps_its_unit() -> None:
    frames = np.column_stack([np.full(50, 0.1), np.linspace(0, 1, 50), np.full(50, 3e8) + np.arange(50) * 1e-7])
    quantiles = Quantiles.of(frames)
    assert quantiles.unscaled.tolist() == [True, False, True]
    made = quantiles.normalised(np.array([[0.1, 0.5, 3e8], [0.6, 0.5, 3e8 + 2]]))
    np.testing.assert_allclose(made[:, 0], [0, 0.5], atol=1e-12)
    np.testing.assert_allclose(made[:, 2], [0, 2], atol=1e-5)
