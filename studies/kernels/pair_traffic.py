"""What two ways to count pairs of ids on a GPU move: ``python studies/kernels/pair_traffic.py [--tokens N]``.

``partition`` (csrc/kernels/pairs/partition/by_partition.cu) brings pairs together by bucket and counts a bucket in shared memory.
``hash``, which it replaced, kept hot pairs in 8,192 slots of a block's shared memory and sent the others to one global
table. Counted are global operations (additions to memory that blocks share) and bytes per token: those of
the partition from its own sizes of tiles, bins and buckets; those of the hash on a model of one block's share, of 3.8
million tokens in a row as of 1e9 over 264 blocks, or all there are. Times are bytes over a copy rate, and predicted:
nothing here ran on a GPU. docs/gpu.md "Pair histogram" has the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.profiling.kernels.pair_histogram import encoded, phrases
from pyharness.features.profiling.types import TextSource
from pyharness.kernels import PairHistogram, pair_histogram
from pyharness.types import Ids

BLOCKS = 264  # of 132 multiprocessors, two each
SHARE = 10**9 // BLOCKS
SECTOR = 32  # bytes that memory moves at least
COPY_RATES = {"H100": 3.0e12, "H200": 4.3e12}  # bytes read and written per second: of a data sheet's 90 %, and measured
SORTED = 108  # bytes per token of a keys-only radix sort and a run-length encoding of 34-bit keys
TEXTS = {
    "books, o200k": "path:{data}/corpora/english/books.jsonl.xz",
    "code, o200k": "path:{data}/corpora/code/python.jsonl.xz",
    "Chinese, o200k": "path:{data}/corpora/multilingual/zh/tang_song_poetry.jsonl.xz",
}


# ---- partition: the numbers of by_partition.cu

THREADS, PER_THREAD, TABLE_SLOTS = 512, 8, 8192
DISTINCT_PER_BUCKET, POSITIONS_PER_BUCKET, FEWEST_BITS, MOST_BITS, PASS_BITS = 4096, 24_576, 6, 14, 8
KEPT = 0.8  # of a table's slots, beyond which probes end and a bucket is read again by shares


def bucket_bits(positions: int) -> int:
    """How many bits number the buckets of a round."""
    bits = FEWEST_BITS
    while bits < MOST_BITS and positions >> bits > (POSITIONS_PER_BUCKET if bits >= PASS_BITS else DISTINCT_PER_BUCKET):
        bits += 1
    return bits


def row_bytes(ids: Ids) -> int:
    """Bytes of a row, by ``fit_one_word`` of rows.hpp: 8 where the bits of both ids and of a count fit a word."""
    return 8 if 2 * int(ids.max()).bit_length() + len(ids).bit_length() <= 64 else 16


def reads_of(distinct: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often a bucket is read: once, or by shares, after attempts at half as many that ended with a full table."""
    room = KEPT * TABLE_SLOTS
    reads: NDArray[np.float64] = 2.0 ** np.ceil(np.log2(np.maximum(distinct / room, 1)))
    attempt = reads / 2
    while (failing := attempt >= 1).any():
        reads = reads + np.where(failing, np.minimum(1.0, attempt * room / np.maximum(distinct, 1)), 0.0)
        attempt = attempt / 2
    return reads


def buckets_of(left: Ids, right: Ids, bits: int) -> NDArray[np.uint32]:
    """The bucket of every pair, as ``PairCodes::bucket``."""
    mixed = right * np.uint32(0x9E3779B1) + (left >> np.uint32(bits)) * np.uint32(0x85EBCA77)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    buckets: NDArray[np.uint32] = (left ^ mixed >> np.uint32(16) ^ mixed >> np.uint32(8)) & np.uint32((1 << bits) - 1)
    return buckets


@dataclass(frozen=True)
class Traffic:
    """Per token: additions to global memory, bytes where caches merge neighbouring writes, and where they do not."""

    operations: float
    merged: float
    unmerged: float
    rows: float  # bytes to write the rows, per token

    def times(self) -> str:
        """Predicted milliseconds for 1e9 tokens."""
        return " / ".join(f"{(self.merged + self.rows) * 1e12 / rate:.1f}" for rate in COPY_RATES.values())


def runs(bins: NDArray[np.uint32], count: int) -> tuple[int, int]:
    """Runs that a pass writes, one per tile and bin that occurs, and the sectors that they touch, 4 bytes a pair."""
    tile, found, sectors = THREADS * PER_THREAD, 0, 0
    ends = np.zeros(count, np.int64)  # of each bin's pairs so far
    ends[1:] = np.cumsum(np.bincount(bins, minlength=count))[:-1]
    for first in range(0, len(bins), tile):
        sizes = np.bincount(bins[first : first + tile], minlength=count)
        begin, ends = ends, ends + sizes
        taken = sizes > 0
        found += int(taken.sum())
        sectors += int(((ends[taken] * 4 - 1) // SECTOR - begin[taken] * 4 // SECTOR + 1).sum())
    return found, sectors


def by_partition(ids: Ids, histogram: PairHistogram) -> tuple[Traffic, float]:
    """Its traffic, and how often a bucket is read to be counted, on the average."""
    tokens, bits = len(ids), bucket_bits(len(ids))
    fine = 0 if bits <= PASS_BITS else bits // 2
    buckets = buckets_of(ids[:-1], ids[1:], bits)
    sizes = np.bincount(buckets, minlength=1 << bits)
    coarse = buckets >> np.uint32(fine)
    written = [runs(coarse, 1 << (bits - fine))]
    if fine:  # which meets one coarse bucket after the other
        written.append(runs(buckets[np.argsort(coarse, kind="stable")], 1 << bits))
    operations = np.count_nonzero(sizes) * min(4 * 132, -(-tokens // (THREADS * PER_THREAD))) + len(sizes)
    operations += sum(found for found, _ in written)
    distinct = np.bincount(buckets_of(histogram.left, histogram.right, bits), minlength=1 << bits)
    reads = float((reads_of(distinct) * sizes).sum() / sizes.sum())
    merged = 4 + 8 * len(written) + 4 * reads
    unmerged = merged + sum(SECTOR * sectors / tokens - 4 for _, sectors in written)
    return Traffic(operations / tokens, merged, unmerged, row_bytes(ids) * len(histogram) / tokens), reads


# ---- hash: the cache of a block as it was

CACHE_SLOTS, PROBES = 8192, 8
GOLDEN, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


def sent_to_the_table(ids: Ids) -> float:
    """Additions to the global table per token, in one block: what the cache has no slot for, and what it drops."""
    tags = [0] * CACHE_SLOTS
    counts = [0] * CACHE_SLOTS
    used, sent, threshold = 0, 0, 2
    for number, (slot, tag) in enumerate(slots(ids), 1):
        for probe in range(PROBES):
            at = (slot + probe) % CACHE_SLOTS
            if tags[at] == 0:
                tags[at] = tag
                used += 1
            if tags[at] == tag:
                counts[at] += 1
                break
        else:
            sent += 1
        if number % 6144 or used <= CACHE_SLOTS * 3 // 4:
            continue
        dropped = [at for at in range(CACHE_SLOTS) if tags[at] and counts[at] < threshold]
        for at in dropped:
            tags[at] = counts[at] = 0
        sent, used = sent + len(dropped), used - len(dropped)
        if used > CACHE_SLOTS // 2:
            threshold *= 2
        elif used < CACHE_SLOTS * 3 // 8 and threshold > 2:
            threshold //= 2
    return (sent + used) / (len(ids) - 1)


def slots(ids: Ids) -> Iterator[tuple[int, int]]:
    """The slot and the tag of every pair."""
    tags = ~(ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:])
    mixed = tags * np.uint64(GOLDEN)
    mixed = (mixed ^ mixed >> np.uint64(32)) >> np.uint64(40)
    return zip((mixed % np.uint64(CACHE_SLOTS)).tolist(), tags.tolist(), strict=True)


# ---- the table


def report(name: str, ids: Ids) -> None:
    """Print a row."""
    histogram = pair_histogram(ids, threads=2)
    ours, reads = by_partition(ids, histogram)
    sent = sent_to_the_table(ids[:SHARE])
    hashed = Traffic(sent, 4, 4 + 2 * SECTOR * sent, 0.0)
    sys.stdout.write(
        f"{name:24} {len(ids):>11,} {len(histogram) / len(ids):6.3f} | {ours.operations:6.3f} {ours.merged:6.1f} "
        f"{ours.unmerged:6.1f} {ours.rows:5.1f} {reads:5.2f} {ours.times():>12} | {hashed.operations:6.3f} "
        f"{hashed.merged:5.1f} {hashed.unmerged:6.1f}\n"
    )
    sys.stdout.flush()


def main() -> None:
    """Print the rows of the generator, and those of real ids where ``--data`` names the corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20_000_000, help="of the profile's generator (default: 2e7)")
    parser.add_argument("--data", help="folder with corpora/ and tokenizers/, as PYHARNESS_DATA")
    arguments = parser.parse_args()
    sys.stdout.write(
        f"{'':24} {'tokens':>11} {'pairs':>6} | {'partition: operations, bytes, unmerged, rows, reads, ms':>46}"
        f" | hash: operations, bytes in cache, out of it\na keys-only sort: {SORTED} bytes a token\n"
    )
    for vocabulary in (131_072, 4096):
        report(f"generator, V = {vocabulary:,}", phrases(arguments.tokens, vocabulary))
    uniform = np.random.default_rng(1).integers(0, 131_072, arguments.tokens, dtype=np.uint32)
    report("independent, uniform", uniform)
    if arguments.data is None:
        return
    for name, corpus in TEXTS.items():
        tokenizer = f"file:{arguments.data}/tokenizers/tiktoken/o200k_base.tiktoken?pattern=o200k_base"
        ids, *_ = encoded(TextSource(corpus.format(data=arguments.data), tokenizer), 2)
        report(name, ids)


if __name__ == "__main__":
    main()
