"""Rounding to the dtypes of checkpoints, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyharness.features.adaptation.surgery.rows import to_bytes
from pyharness.features.language_models.weights_file import WIDTHS, to_float64

TORCH = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


def hard_numbers() -> Any:
    """Float32 of random bits, halves between neighbours, the largest and smallest, infinities."""
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 2**32, 200_000, dtype=np.uint32)
    halves = bits & 0xFFFF0000 | 0x8000
    special = np.array([0, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x80000000, 0x477FE000, 0x477FF000], np.uint32)
    numbers = np.concatenate((bits, halves, halves + 1, halves - 1, special)).view(np.float32)
    return numbers[~np.isnan(numbers)].astype(np.float64)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_rounding_is_that_of_torch(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    numbers = np.concatenate((hard_numbers(), np.random.default_rng(2).normal(size=100_000)))
    expected = torch.from_numpy(numbers).float().to(getattr(torch, TORCH[dtype]))
    found = to_bytes(numbers, dtype)
    np.testing.assert_array_equal(found, expected.view(torch.uint8).numpy())
    np.testing.assert_array_equal(to_float64(found[None], dtype)[0], expected.double().numpy())


@pytest.mark.parametrize("dtype", WIDTHS)
def test_what_is_no_number_stays_none(dtype: str) -> None:
    patterns = np.array([0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        assert np.isnan(to_float64(to_bytes(patterns.astype(np.float64), dtype)[None], dtype)).all()
