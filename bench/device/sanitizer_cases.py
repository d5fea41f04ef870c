"""Small calls of every kernel, for compute-sanitizer: shapes that reach each path, results checked on the CPU.

usage: compute-sanitizer --tool memcheck python bench/device/sanitizer_cases.py

Only cupy makes arrays: torch's start-up under the sanitizer takes minutes.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from pyharness import kernels
from pyharness.kernels.arrays.devices import require_cuda

# One warp; several; unaligned rows and tails; rows split over blocks.
SHAPES = ((3, 1), (4, 7), (5, 1100), (3, 32_003), (2, 128_256))
METHODS: tuple[Any, ...] = ("sort", "partition", "dense")
OUTPUTS: tuple[Any, ...] = ("entropy", "log_sum_exp", "nll", "max_probability", "argmax", "margin")
TOLERANCE = 1e-5


def entropy_cases(cupy: Any) -> None:
    """All outputs and entropy alone, contiguous and with an odd row stride, with a chunked vocabulary."""
    random = np.random.default_rng(0)
    for (rows, columns), dtype, padding in product(SHAPES, (np.float32, np.float16), (0, 3)):
        host = (random.standard_normal((rows, columns + padding)) * 4).astype(dtype)
        host[:, : columns // 3] = -np.inf
        logits = cupy.asarray(host)[:, :columns]
        targets = random.integers(0, columns, rows)
        wanted = kernels.entropy(host[:, :columns], targets=targets, outputs=OUTPUTS)
        results = kernels.entropy(logits, targets=cupy.asarray(targets), outputs=OUTPUTS)
        for name in OUTPUTS:
            np.testing.assert_allclose(
                getattr(results, name).get(), getattr(wanted, name), atol=TOLERANCE, err_msg=name
            )
        alone = kernels.entropy(logits)
        np.testing.assert_allclose(alone.entropy.get(), wanted.entropy, atol=TOLERANCE)


def linear_entropy_cases(cupy: Any) -> None:
    """Several chunks of the vocabulary, merged."""
    random = np.random.default_rng(1)
    hidden = random.standard_normal((5, 64)).astype(np.float32)
    weight = random.standard_normal((1003, 64)).astype(np.float32)
    wanted = kernels.linear_entropy(hidden, weight)
    results = kernels.linear_entropy(cupy.asarray(hidden), cupy.asarray(weight), max_bytes=12_000)
    np.testing.assert_allclose(results.entropy.get(), wanted.entropy, atol=1e-4)  # another order in the matrix product


def pair_histogram_cases(cupy: Any) -> None:
    """Every method, with and without segments and weights."""
    random = np.random.default_rng(2)
    for vocab_size, segments in product((50, 3000), (False, True)):
        tokens = (random.zipf(1.3, 20_000) % vocab_size).astype(np.uint32)
        offsets = np.array([0, 0, 1, 777, 20_000]) if segments else None
        weights = np.array([5, 4, 3, 2], np.uint64) if segments else None
        wanted = kernels.pair_histogram(tokens, offsets, weights)
        for method in METHODS:
            if method == "dense" and vocab_size > 2048:
                continue
            ours, cuts, counts = (
                None if array is None else cupy.asarray(array) for array in (tokens, offsets, weights)
            )
            histogram: Any = kernels.pair_histogram(ours, cuts, counts, method=method)
            for name in ("left", "right", "count"):
                np.testing.assert_array_equal(getattr(histogram, name).get(), getattr(wanted, name), err_msg=method)


CASES = {
    "entropy": entropy_cases,
    "linear_entropy": linear_entropy_cases,
    "pair_histogram": pair_histogram_cases,
}


def main() -> None:
    """Run the cases named on the command line, or all."""
    require_cuda()  # before cupy, which a dry run may lack
    import cupy

    for name in sys.argv[1:] or CASES:
        CASES[name](cupy)
        sys.stdout.write(f"{name}: equal to the CPU\n")


if __name__ == "__main__":
    main()
