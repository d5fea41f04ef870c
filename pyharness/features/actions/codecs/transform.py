"""Cosine transform of action chunks along time: orthonormal DCT-II, and its inverse."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
LONGEST = 4096  # frames of a chunk: the matrix of as many cosines has 128 MiB


def transformed(values: Values) -> Values:
    """Coefficients of a chunk: float64 [frames, dimensions] -> [frequencies, dimensions], the lowest first.

    ``c[k] = s[k] sum_t x[t] cos(pi (t + 1/2) k / T)``, ``s[0] = sqrt(1 / T)``, else ``sqrt(2 / T)``: lengths stay.

    >>> transformed(np.full((4, 1), 0.5)).round(12).ravel().tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    return _scales(len(values)) * (_cosines(len(values)) @ values)


def restored(coefficients: Values) -> Values:
    """Inverse of ``transformed``."""
    return _cosines(len(coefficients)).T @ (_scales(len(coefficients)) * coefficients)


@lru_cache(maxsize=4)
def _cosines(frames: int) -> Values:
    """Float64 [frequency, frame]. The angle is reduced as a whole number, so that what should cancel does."""
    steps = np.arange(frames, dtype=np.int64)
    angles = (2 * steps[None, :] + 1) * steps[:, None] % (4 * frames)
    cosines: Values = np.cos(angles * (np.pi / (2 * frames)))
    return cosines


def _scales(frames: int) -> Values:
    scales = np.full((frames, 1), np.sqrt(2 / frames))
    scales[:1] = np.sqrt(1 / frames)
    return scales
