"""What people call today to count pairs: unique of numpy and cupy, value_counts of polars, a sort by CUB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.profiling import Peer
from pyharness.system.environment import version_of
from pyharness.types import Ids, Unsupported

Counts = tuple[Any, Any]  # 64-bit keys in rising order, and how often each occurs


def numpy_peers(tokens: Ids) -> tuple[Peer, ...]:
    """Return numpy.unique of 64-bit keys, which are made within the call as ours makes them."""

    def build() -> Callable[[], Any]:
        return lambda: np.unique(pair_keys(tokens), return_counts=True)

    return (
        Peer(
            "numpy.unique", "of 64-bit keys, in rising order of keys, on one thread", build, 32 * len(tokens), _differs
        ),
    )


def polars_peers(tokens: Ids, threads: int) -> tuple[Peer, ...]:
    """Return polars where it is installed: it is no dependency of ours, not even an optional one."""
    if version_of("polars") is None:
        return ()

    def build() -> Callable[[], Any]:
        import polars as pl

        if (taken := pl.thread_pool_size()) != threads:
            raise Unsupported(f"polars runs on {taken} threads, the others on {threads}: set POLARS_MAX_THREADS")
        return lambda: pl.Series("pair", pair_keys(tokens)).value_counts()

    def as_counts(result: Any, ours: Any) -> str | None:
        ordered = result.sort("pair")
        return _differs((ordered["pair"].to_numpy(), ordered["count"].to_numpy()), ours)

    about = "Series.value_counts of 64-bit keys, in no order"
    return (Peer("polars", about, build, 32 * len(tokens), as_counts),)


def cuda_peers(tokens: Any) -> tuple[Peer, ...]:
    """Return cupy.unique, and our own reference: radix sort and run-length encoding by CUB."""

    def unique() -> Callable[[], Any]:
        import cupy

        return lambda: cupy.unique(pair_keys(tokens), return_counts=True)

    def by_sorting() -> Callable[[], Any]:
        return lambda: kernels.pair_histogram(tokens, method="sort")

    return (
        Peer("cupy.unique", "of 64-bit keys, in rising order of keys", unique, 40 * len(tokens), _differs),
        Peer("CUB sort", "radix sort and run-length encoding: our method='sort'", by_sorting, 32 * len(tokens),
             lambda result, ours: _differs(as_keys(result), ours)),
    )  # fmt: skip


def pair_keys(tokens: Any) -> Any:
    """Left id in the upper half of a uint64, right id in the lower: numpy and cupy alike."""
    keys = tokens[:-1].astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= tokens[1:]
    return keys


def as_keys(histogram: Any) -> Counts:
    """Keys in rising order and counts of a ``PairHistogram``."""
    keys = histogram.left.astype(np.uint64) << np.uint64(32) | histogram.right.astype(np.uint64)
    order = keys.argsort()
    return keys[order], histogram.count[order]


def _differs(counts: Counts, ours: Any) -> str | None:
    expected: tuple[NDArray[Any], ...] = as_keys(ours)
    if len(counts[0]) != len(expected[0]):
        return f"{len(counts[0]):,} distinct pairs, ours {len(expected[0]):,}"
    for name, a, b in zip(("pair", "count"), counts, expected, strict=True):
        if bool((a != b).any()):
            return f"{name} {int((a != b).argmax()):,} in the order of pairs differs"
    return None
