"""Least times of a known device, for machines without one. Not a measurement of this run."""

from __future__ import annotations

from pyharness.features.profiling.types import Floor

COPY_RATE = 4.3e12  # bytes read and written per second, device to device
MATRIX_RATE = {"bf16": 790e12}  # FLOP per second of a large product
NAME = "an H200 (copies 4.3 TB/s, multiplies 790 TFLOP/s in bf16: measured elsewhere)"


def seconds(floor: Floor, dtype: str) -> float | None:
    """Return the time at the limiting roof; None where the product's rate for the dtype is unknown."""
    copying = floor.bytes / COPY_RATE
    if floor.matrix_flop == 0:
        return copying
    return max(copying, floor.matrix_flop / MATRIX_RATE[dtype]) if dtype in MATRIX_RATE else None
