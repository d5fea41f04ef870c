"""The study of memory traffic has the constants of the kernels, and they move as few bytes as is promised."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from pyharness.features.profiling.kernels.pair_histogram import phrases
from pyharness.kernels import pair_histogram

ROOT = Path(__file__).parents[2]


def test_the_study_of_traffic_has_the_sizes_of_the_sources_and_holds_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 14 bytes a token to count a million tokens of the profile, and less with more (docs/gpu.md)."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "studies" / "kernels"), *sys.path])
    pair_traffic = importlib.import_module("pair_traffic")
    folder = ROOT / "csrc/kernels/pairs"
    sources = (folder / "partition/by_partition.cu", folder / "partition/hot.hpp", folder / "pair_histogram.hpp")
    text = "".join(path.read_text(encoding="utf-8") for path in sources).replace("'", "")
    for name, size in (
        ("kDistinctPerBucket", pair_traffic.DISTINCT_PER_BUCKET),
        ("kPositionsPerBucket", pair_traffic.POSITIONS_PER_BUCKET),
        ("kFewestBucketBits", pair_traffic.FEWEST_BITS),
        ("kMostBucketBits", pair_traffic.HASH_BITS),
        ("kHotWays", pair_traffic.HOT_WAYS),
        ("sampled_part", pair_traffic.SAMPLED_PART),
        ("kFewestCovered", pair_traffic.FEWEST_COVERED),
    ):
        assert f"{name} = {size};" in text
    ids = phrases(1_000_000, 131_072)
    histogram = pair_histogram(ids, threads=1)
    traffic = pair_traffic.by_partition(ids, histogram)
    without = pair_traffic.by_partition(ids, histogram, hot=False)
    documents = pair_traffic.by_partition(ids, histogram, np.arange(0, 1_000_001, 500))
    assert traffic.reads == without.reads == 1
    assert 0.25 < traffic.hot < 0.5
    assert without.to_count == 20
    assert traffic.counting < 16
    assert 0 < documents.counting - traffic.counting < 0.02
    assert pair_traffic.bucket_bits(6_200_000) == 10
    assert pair_traffic.bucket_bits(10**9) == 14


def test_a_table_has_the_most_frequent_pairs_of_each_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """And as few as that: two of a set."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "studies" / "kernels"), *sys.path])
    pair_traffic = importlib.import_module("pair_traffic")
    monkeypatch.setattr(pair_traffic, "HOT_SETS", 64)
    histogram = pair_histogram(phrases(20_000, 5000), threads=1)
    hot = set(pair_traffic.hot_keys(histogram).tolist())
    sets = pair_traffic.hashes_of(histogram.left, histogram.right) * np.uint32(64) >> np.uint32(14)
    keys = pair_traffic.keys_of(histogram.left, histogram.right)
    for number in range(64):
        assert set(keys[sets == number][:2].tolist()) == hot & set(keys[sets == number].tolist())
