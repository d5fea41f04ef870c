"""Small calls of every kernel, for compute-sanitizer: shapes that reach each path, results checked on the CPU.

usage: compute-sanitizer --tool memcheck python bench/device/sanitizer_cases.py

Only cupy makes arrays: torch's start-up under the sanitizer takes minutes. Its pool is off: it rounds up to 512 bytes
and hands out parts of larger blocks, in which a small overrun hits nobody. Pairs are counted with the sizes of the
tests, too, so that tables grow, thin out and overflow on few tokens.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pyharness import kernels
from pyharness.kernels import device_pairs
from pyharness.kernels.devices import require_cuda

# Short rows, one and several a warp, more than a block takes; long ones, unaligned and with tails; split over blocks.
SHAPES = ((3, 1), (70, 7), (2, 260), (5, 1100), (3, 32_003), (2, 128_256))
DTYPES = ("float32", "float16", "bfloat16")
METHODS: tuple[Any, ...] = ("sort", "partition", "dense")
OUTPUTS: tuple[Any, ...] = ("entropy", "log_sum_exp", "nll", "max_probability", "argmax", "margin")
TOLERANCE = 1e-5
HOT = {"threads": 32, "hot_slots": 512, "sampled_part": 2}


def entropy_cases(cupy: Any) -> None:
    """All outputs and entropy alone, contiguous and with an odd row stride, in every dtype."""
    random = np.random.default_rng(0)
    for (rows, columns), dtype, padding in product(SHAPES, DTYPES, (0, 3)):
        values = random.standard_normal((rows, columns + padding)) * 4
        values[:, : columns // 3] = -np.inf
        host, device = logits_of(values, dtype, columns, cupy)
        targets = random.integers(0, columns, rows)
        wanted = kernels.entropy(host, targets=targets, outputs=OUTPUTS)
        results = kernels.entropy(device, targets=cupy.asarray(targets), outputs=OUTPUTS)
        for name in OUTPUTS:
            found = getattr(results, name).get()
            np.testing.assert_allclose(found, getattr(wanted, name), atol=TOLERANCE, err_msg=name)
        alone = kernels.entropy(device)
        np.testing.assert_allclose(alone.entropy.get(), wanted.entropy, atol=TOLERANCE)


def logits_of(values: Any, dtype: str, columns: int, cupy: Any) -> tuple[Any, Any]:
    """The first columns of values, on the host and on the device; bfloat16 as the tests hand it out."""
    from backends import Bfloat16Array, bfloat16_bits

    host = bfloat16_bits(values) if dtype == "bfloat16" else values.astype(dtype)
    pair = host[:, :columns], cupy.asarray(host)[:, :columns]
    return (Bfloat16Array(pair[0]), Bfloat16Array(pair[1])) if dtype == "bfloat16" else pair


def linear_entropy_cases(cupy: Any) -> None:
    """Several chunks of the vocabulary, merged."""
    random = np.random.default_rng(1)
    hidden = random.standard_normal((5, 64)).astype(np.float32)
    weight = random.standard_normal((1003, 64)).astype(np.float32)
    wanted = kernels.linear_entropy(hidden, weight)
    results = kernels.linear_entropy(cupy.asarray(hidden), cupy.asarray(weight), max_bytes=12_000)
    np.testing.assert_allclose(results.entropy.get(), wanted.entropy, atol=1e-4)  # another order in the matrix product


def pair_histogram_cases(cupy: Any) -> None:
    """Every method, with and without segments and weights; usual sizes on many tokens, smaller ones on few.

    The first two have enough tiles for a sample of the most frequent pairs.
    """
    from pair_counts import SMALL

    for tuning, count in (({}, 400_000), (HOT, 8_000), (SMALL, 500)):
        device_pairs.TUNING.clear()
        device_pairs.TUNING.update(tuning)
        for vocab_size, segments in product((50, 3000), (False, True)):
            count_pairs(count, vocab_size, segments, cupy)
    device_pairs.TUNING.clear()


def count_pairs(count: int, vocab_size: int, segments: bool, cupy: Any) -> None:
    """By every method that takes ids below ``vocab_size``."""
    random = np.random.default_rng(2)
    tokens = (random.zipf(1.3, count) % vocab_size).astype(np.uint32)
    offsets = np.array([0, 0, 1, 77, count]) if segments else None
    weights = np.array([5, 4, 3, 2], np.uint64) if segments else None
    wanted = kernels.pair_histogram(tokens, offsets, weights)
    for method in METHODS:
        if method == "dense" and vocab_size > device_pairs.TUNING.get("dense_ids", 2048):
            continue
        ours, cuts, counts = (None if array is None else cupy.asarray(array) for array in (tokens, offsets, weights))
        histogram: Any = kernels.pair_histogram(ours, cuts, counts, method=method)
        for name in ("left", "right", "count"):
            np.testing.assert_array_equal(getattr(histogram, name).get(), getattr(wanted, name), err_msg=method)


def yardstick_cases(cupy: Any) -> None:
    """The kernels that profiles hold ours against."""
    from pyharness import _cuda

    random = np.random.default_rng(3)
    for loads in (0, 1, 513, 40_000):
        words = random.integers(0, 1 << 32, 4 * loads, np.uint32)
        total = cupy.zeros(1, np.uint64)
        _cuda.add_words(cupy.asarray(words), total)
        assert int(total[0]) == int(words.sum(dtype=np.uint64)), loads
    for count, id_bits in ((2, 1), (50_000, 17), (50_000, 32)):
        tokens = (random.zipf(1.3, count) % (1 << id_bits)).astype(np.uint32)
        runs = _cuda.PairRuns(cupy.asarray(tokens), id_bits, lambda size, _purpose: cupy.empty(size, np.uint8))
        keys, counts = cupy.empty(len(runs), np.uint64), cupy.empty(len(runs), np.uint32)
        runs.write(keys, counts)
        packed = tokens[:-1].astype(np.uint64) << np.uint64(id_bits) | tokens[1:]
        for found, wanted in zip((keys, counts), np.unique(packed, return_counts=True), strict=True):
            np.testing.assert_array_equal(found.get(), wanted, err_msg=f"{count} tokens")


CASES = {
    "entropy": entropy_cases,
    "linear_entropy": linear_entropy_cases,
    "pair_histogram": pair_histogram_cases,
    "yardsticks": yardstick_cases,
}


def main() -> None:
    """Run the cases named on the command line, or all."""
    require_cuda()  # before cupy, which a dry run may lack
    import cupy

    sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))
    cupy.cuda.set_allocator(None)  # every array its own allocation
    for name in sys.argv[1:] or CASES:
        CASES[name](cupy)
        sys.stdout.write(f"{name}: equal to the CPU\n")


if __name__ == "__main__":
    main()
