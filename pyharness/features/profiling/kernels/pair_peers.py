"""Peers that count pairs: unique of numpy and cupy, value_counts of polars, sorts of CUB and cupy, and our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyharness import kernels
from pyharness.features.profiling.arrays import array_library, on_host, wide
from pyharness.features.profiling.types import Peer
from pyharness.kernels.arrays import describe
from pyharness.kernels.device_pairs import count_on_device
from pyharness.kernels.place import Place
from pyharness.system.environment import version_of
from pyharness.types import Ids, Unsupported

Counts = tuple[Any, Any]  # ascending 64-bit keys, and their counts


def numpy_peers(tokens: Ids) -> tuple[Peer, ...]:
    """Return numpy.unique of 64-bit keys, which the call makes itself, as ours does."""

    def build() -> Callable[[], Any]:
        return lambda: np.unique(pair_keys(tokens), return_counts=True)

    return (
        Peer(
            "numpy.unique", "of 64-bit keys, in rising order of keys, on one thread", build, 32 * len(tokens), _differs
        ),
    )


def polars_peers(tokens: Ids, threads: int) -> tuple[Peer, ...]:
    """Return polars where it is installed: it is not even an optional dependency of ours."""
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


def cuda_peers(tokens: Any, vocabulary: int, offsets: Any, weights: Any) -> tuple[Peer, ...]:
    """Return ours without the last step, CUB and cupy's sorts, and our reference; of segments only what is ours."""
    where = describe(tokens, "tokens").device

    def unordered() -> Callable[[], Any]:
        return lambda: count_on_device(tokens, offsets, weights, "auto", where, None, ordered=False)

    def by_sorting() -> Callable[[], Any]:
        return lambda: kernels.pair_histogram(tokens, offsets, weights, method="sort")

    ours = (
        Peer("unordered", "ours without the order of rows, which those of CUB and polars lack too", unordered,
             20 * len(tokens), lambda result, ours: _differs(as_keys(kernels.PairHistogram(*result)), ours)),
        Peer("our sort", "method='sort': keys with 64-bit weights, by CUB; the deterministic reference", by_sorting,
             32 * len(tokens), lambda result, ours: _differs(as_keys(result), ours)),
    )  # fmt: skip
    return ours if offsets is not None else (ours[0], cub_peer(tokens, vocabulary), *cupy_peers(tokens, vocabulary),
                                             ours[1])  # fmt: skip


MOST_RUNS = 1 << 31  # tokens: CUB's encoder counts keys in 31 bits


def cub_peer(tokens: Any, vocabulary: int) -> Peer:
    """Return what a user of CUB writes, by ``csrc/kernels/yardsticks/pair_runs.cu``."""
    bits = max(1, (vocabulary - 1).bit_length())  # of an id
    place = Place.of(tokens, describe(tokens, "tokens"), None, None)

    def build() -> Callable[[], Any]:
        if len(tokens) > MOST_RUNS:
            raise Unsupported(f"CUB encodes runs of fewer than {MOST_RUNS:,} keys")
        return lambda: place.module.PairRuns(tokens, bits, place.allocate, place.stream)

    def as_counts(runs: Any, ours: Any) -> str | None:
        packed, counts = (place.empty((len(runs),), dtype, "the runs") for dtype in ("uint64", "uint32"))
        runs.write(packed, counts, place.stream)
        keys = wide(packed)
        return _differs((keys >> bits << 32 | keys & (1 << bits) - 1, counts), ours)

    about = f"DeviceRadixSort::SortKeys of the {2 * bits} bits in use, then DeviceRunLengthEncode; in order of keys"
    return Peer("CUB", about, build, 24 * len(tokens), as_counts)


def cupy_peers(tokens: Any, vocabulary: int) -> tuple[Peer, Peer]:
    """Return cupy.sort of packed keys, which sorts all bits of their type, and cupy.unique."""

    def library() -> Any:
        if (found := array_library("cuda")).__name__ == "torch":
            raise Unsupported("cupy is not installed")
        return found

    def unique() -> Callable[[], Any]:
        cupy = library()
        return lambda: cupy.unique(pair_keys(tokens), return_counts=True)

    def packed() -> Callable[[], Any]:
        cupy = library()
        return lambda: sorted_runs(packed_keys(tokens, vocabulary), cupy)

    def unpacked(result: Counts, ours: Any) -> str | None:
        return _differs((unpacked_keys(result[0], vocabulary), result[1]), ours)

    bits = 8 * packed_type(vocabulary).itemsize
    return (
        Peer("cupy sort", f"of all {bits} bits of packed keys, and run lengths; in rising order of keys", packed,
             40 * len(tokens), unpacked),
        Peer("cupy.unique", "of 64-bit keys, in rising order of keys", unique, 40 * len(tokens), _differs),
    )  # fmt: skip


def packed_type(vocabulary: int) -> np.dtype[Any]:
    """Return the narrowest type for all pairs of ids below ``vocabulary``: 32 bits halve the data to sort."""
    return np.dtype(np.uint32 if vocabulary <= 1 << 16 else np.uint64)


def packed_keys(tokens: Any, vocabulary: int) -> Any:
    """Return ``left * vocabulary + right`` of every pair, in ``packed_type``; for numpy and cupy."""
    keys = tokens[:-1].astype(packed_type(vocabulary))
    keys *= keys.dtype.type(vocabulary)
    keys += tokens[1:]
    return keys


def unpacked_keys(packed: Any, vocabulary: int) -> Any:
    """Convert packed keys to those of ``pair_keys``."""
    keys = packed.astype(np.uint64)
    return keys // np.uint64(vocabulary) << np.uint64(32) | keys % np.uint64(vocabulary)


def sorted_runs(keys: Any, library: Any) -> Counts:
    """Sort keys in place, and return their run-length encoding: each key with its count."""
    keys.sort()
    starts = library.ones(len(keys), dtype=bool)
    library.not_equal(keys[1:], keys[:-1], out=starts[1:])
    first = library.flatnonzero(starts)
    ends = library.append(first[1:], library.asarray([len(keys)], dtype=first.dtype))
    return keys[first], ends - first


def pair_keys(tokens: Any) -> Any:
    """Return uint64 with the left id in the upper half, the right id in the lower; for numpy and cupy."""
    keys = tokens[:-1].astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= tokens[1:]
    return keys


def as_keys(histogram: Any) -> Counts:
    """Return the ascending keys and counts of a ``PairHistogram``."""
    keys = wide(histogram.left) << 32 | wide(histogram.right)
    order = keys.argsort()
    return keys[order], wide(histogram.count)[order]


def _differs(counts: Counts, ours: Any) -> str | None:
    expected = as_keys(ours)
    if len(counts[0]) != len(expected[0]):
        return f"{len(counts[0]):,} distinct pairs, ours {len(expected[0]):,}"
    for name, a, b in zip(("pair", "count"), counts, expected, strict=True):
        differing = wide(a) != b
        if bool(differing.any()):
            return f"{name} {int(on_host(differing).argmax()):,} in the order of pairs differs"
    return None
