"""Entropy from hidden states beside the bare matrix product: ``pytest bench/speed/kernels``."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import pytest

from pyharness.features.profiling.arrays import differs, normal
from pyharness.features.profiling.kernels.entropy import PRECISION
from pyharness.kernels import entropy, linear_entropy

SHAPES = {"cpu": (256, 768, 50257), "cuda": (16384, 4096, 128256)}


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_linear_entropy(side_by_side: Callable[..., Any], torch: Any, device: Any, dtype: str) -> None:
    rows, width, vocabulary = SHAPES[device]
    hidden = normal(device, dtype, (rows, width), 1.0)
    weight = normal(device, dtype, (vocabulary, width), 3.0 / sqrt(width), seed=1)
    product = hidden @ weight.T
    ours = linear_entropy(hidden, weight, threads=2).entropy
    assert differs(ours, entropy(product, threads=2).entropy, 1e-4, PRECISION[dtype]) is None
    timed = side_by_side(
        lambda: linear_entropy(hidden, weight, threads=2),
        bare_product=lambda: torch.matmul(hidden, weight.T, out=product),
    )
    assert differs(timed.entropy, ours, 1e-6) is None
