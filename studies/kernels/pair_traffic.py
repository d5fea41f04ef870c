"""What counting pairs of ids on a GPU moves: ``python studies/kernels/pair_traffic.py [--tokens N] [--data FOLDER]``.

Bytes per token of csrc/kernels/pairs/partition, computed on the host from its own sizes: of the sample and the table of
hot pairs, of both passes, of counting, and of rows. ``hot`` is the share of the pairs that the table takes, ``reads``
how often a bucket is read to be counted. The last column leaves the table out. Times are bytes over a copy rate, and
predicted: nothing here ran on a GPU. docs/gpu.md "By partition" has the table.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.profiling.kernels.pair_histogram import encoded, phrases
from pyharness.features.profiling.types import TextSource
from pyharness.kernels import PairHistogram, pair_histogram
from pyharness.types import Ids, Offsets

COPY_RATES = {"H100": 3.0e12, "H200": 4.3e12}  # bytes read and written per second: of a data sheet's 90 %, and measured
TEXTS = {
    "books, o200k": "path:{data}/corpora/english/books.jsonl.xz",
    "code, o200k": "path:{data}/corpora/code/python.jsonl.xz",
    "Chinese, o200k": "path:{data}/corpora/multilingual/zh/tang_song_poetry.jsonl.xz",
}

# ---- the numbers of csrc/kernels/pairs/partition, on sm_90 and sm_100

TILE, TABLE_SLOTS = 1024 * 8, 8192  # positions of a tile of the first pass; slots of a bucket's table
DISTINCT_PER_BUCKET, POSITIONS_PER_BUCKET, FEWEST_BITS, HASH_BITS = 4096, 24_576, 10, 14
SHARED_BYTES, HOT_WAYS, SAMPLED_PART, MOST_SAMPLED, FEWEST_COVERED = 227 * 1024, 2, 32, 1 << 21, 0.15
# What a block of the first pass has room for beside its tile, the sizes of 2^14 buckets, and its bins and pages.
HOT_SETS = (SHARED_BYTES - 4 * TILE - (2 << HASH_BITS) - 128 * (18 + 6)) // (8 + 4)
KEPT = 0.8  # of a table's slots, beyond which probes end and a bucket is read again by shares
SAMPLED_ROW = 16  # bytes: written and read again; what places they take lies in the second-level cache


def bucket_bits(positions: int) -> int:
    """How many bits number the buckets of a round."""
    bits = FEWEST_BITS
    while bits < HASH_BITS and positions >> bits > POSITIONS_PER_BUCKET:
        bits += 1
    return bits


def row_bytes(ids: Ids) -> int:
    """Bytes of a row, by ``fit_one_word`` of rows.hpp: 8 where the bits of both ids and of a count fit a word."""
    return 8 if 2 * max(17, int(ids.max()).bit_length()) + len(ids).bit_length() <= 64 else 16


def reads_of(distinct: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often a bucket is read: once, or by shares, after attempts at larger ones that ended with a full table."""
    room = KEPT * TABLE_SLOTS
    reads: NDArray[np.float64] = 2.0 ** np.ceil(np.log2(np.maximum(distinct / room, 1)))
    shares = reads / 2
    while (failing := shares >= 1).any():
        reads = reads + np.where(failing, shares * np.minimum(1.0, shares * room / np.maximum(distinct, 1)), 0.0)
        shares = shares / 2
    return reads


def hashes_of(left: Ids, right: Ids) -> NDArray[np.uint32]:
    """The 14 bits of ``PairCode::of`` that say a pair's bucket and its set of hot pairs."""
    mixed = right * np.uint32(0x9E3779B1) + (left >> np.uint32(HASH_BITS)) * np.uint32(0x85EBCA77)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    hashes: NDArray[np.uint32] = (left ^ mixed >> np.uint32(16) ^ mixed >> np.uint32(8)) & np.uint32(2**HASH_BITS - 1)
    return hashes


def sample_of(ids: Ids) -> list[Ids]:
    """The tiles that hot pairs are taken from; none where a round has too few."""
    stride = max(SAMPLED_PART, -(-(len(ids) - 1) // MOST_SAMPLED))
    tiles = -(-(len(ids) - 1) // TILE)
    return [ids[tile * stride * TILE :][: TILE + 1] for tile in range(tiles // stride)]


def hot_keys(sample: PairHistogram) -> NDArray[np.uint64]:
    """The pairs of the table: of every set the most frequent of the sample, whose rows come by falling count."""
    sets = hashes_of(sample.left, sample.right) * np.uint32(HOT_SETS) >> np.uint32(HASH_BITS)
    order = np.argsort(sets, kind="stable")
    first = np.concatenate(([0], np.flatnonzero(np.diff(sets[order])) + 1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    kept = order[rank < HOT_WAYS]
    return keys_of(sample.left[kept], sample.right[kept])


def keys_of(left: Ids, right: Ids) -> NDArray[np.uint64]:
    """Both ids in one word."""
    keys: NDArray[np.uint64] = left.astype(np.uint64) << np.uint64(32) | right
    return keys


# ---- bytes


@dataclass(frozen=True)
class Traffic:
    """Bytes per token."""

    hot: float  # the share of the pairs that the table takes
    sample: float
    counting: float  # both passes and the reads of buckets
    rows: float
    reads: float  # of a bucket

    @property
    def to_count(self) -> float:
        """All but the rows."""
        return self.sample + self.counting

    def times(self) -> str:
        """Predicted milliseconds for 1e9 tokens."""
        return " / ".join(f"{(self.to_count + self.rows) * 1e12 / rate:.1f}" for rate in COPY_RATES.values())


def by_partition(ids: Ids, histogram: PairHistogram, offsets: Offsets | None = None, hot: bool = True) -> Traffic:
    """The traffic of one round. Offsets are read where segments are given: 8 bytes each, by sample and pass."""
    tokens = len(ids)
    hot_pairs, sampled, rows = np.empty(0, np.uint64), 0, 0
    if hot and (tiles := sample_of(ids)):
        sample = pair_histogram(np.concatenate(tiles), np.cumsum([0, *map(len, tiles)]))
        sampled, rows = sum(map(len, tiles)), len(sample)
        hot_pairs = hot_keys(sample)
    keys = keys_of(histogram.left, histogram.right)
    in_table = np.isin(keys, hot_pairs)
    share = float(histogram.count[in_table].sum() / histogram.count.sum())
    if share < FEWEST_COVERED:
        in_table[:] = False
        share = 0.0
    tail = ~in_table
    buckets = hashes_of(histogram.left[tail], histogram.right[tail]) >> np.uint32(HASH_BITS - bucket_bits(tokens))
    sizes = np.bincount(buckets, histogram.count[tail], 1 << bucket_bits(tokens))
    reads = reads_of(np.bincount(buckets, minlength=1 << bucket_bits(tokens)))
    mean = float((reads * sizes).sum() / max(1, sizes.sum()))
    segments = 0.0 if offsets is None else 8 * len(offsets) / tokens
    return Traffic(
        hot=share,
        sample=(sampled * (4 + 16 + segments) + rows * SAMPLED_ROW) / tokens,
        counting=4 + segments + (1 - share) * (4 + 8 + 4 * mean),
        rows=row_bytes(ids) * len(histogram) / tokens,
        reads=mean,
    )


def report(name: str, ids: Ids, offsets: Offsets | None = None) -> None:
    """Print a row."""
    histogram = pair_histogram(ids, offsets, threads=2)
    ours = by_partition(ids, histogram, offsets)
    without = by_partition(ids, histogram, offsets, hot=False)
    sys.stdout.write(
        f"{name:28} {len(ids):>13,} {len(histogram) / len(ids):6.3f} {ours.hot:5.2f} | {ours.sample:5.2f} "
        f"{ours.to_count:5.1f} {ours.rows:5.1f} {ours.reads:5.2f} {ours.times():>12} | {without.to_count:5.1f}\n"
    )
    sys.stdout.flush()


def main() -> None:
    """Print the rows of the generator, and those of real ids where ``--data`` names the corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20_000_000, help="of the profile's generator (default: 2e7)")
    parser.add_argument("--data", help="folder with corpora/ and tokenizers/, as PYHARNESS_DATA")
    arguments = parser.parse_args()
    sys.stdout.write(
        f"{'':28} {'tokens':>13} {'pairs':>6} {'hot':>5} | sample, to count, rows; reads; ms H100 / H200"
        " | to count without hot pairs\n"
    )
    for vocabulary in (131_072, 4096):
        report(f"generator, V = {vocabulary:,}", phrases(arguments.tokens, vocabulary))
    uniform = np.random.default_rng(1).integers(0, 131_072, arguments.tokens, dtype=np.uint32)
    report("independent, uniform", uniform)
    if arguments.data is None:
        return
    for name, corpus in TEXTS.items():
        tokenizer = f"file:{arguments.data}/tokenizers/tiktoken/o200k_base.tiktoken?pattern=o200k_base"
        ids, offsets = encoded(TextSource(corpus.format(data=arguments.data), tokenizer), 2)[:2]
        report(name, ids)
        report(f"{name}, by document", ids, offsets)


if __name__ == "__main__":
    main()
