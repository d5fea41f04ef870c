"""The study of memory traffic has the constants of the kernel, and the kernel moves as few bytes as is promised."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from pyharness.features.profiling.kernels.pair_histogram import phrases
from pyharness.kernels import pair_histogram

ROOT = Path(__file__).parents[2]


def test_the_study_of_traffic_has_the_sizes_of_the_sources_and_holds_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 25 bytes a token, rows included, on tokens of the profile (docs/gpu.md "By partition")."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "studies" / "kernels"), *sys.path])
    pair_traffic = importlib.import_module("pair_traffic")
    sources = (ROOT / "csrc/kernels/pairs" / name for name in ("by_partition.cu", "codes.hpp"))
    text = "".join(path.read_text(encoding="utf-8") for path in sources).replace("'", "")
    for name, size in (
        ("kDistinctPerBucket", pair_traffic.DISTINCT_PER_BUCKET),
        ("kPositionsPerBucket", pair_traffic.POSITIONS_PER_BUCKET),
        ("kFewestBucketBits", pair_traffic.FEWEST_BITS),
    ):
        assert f"{name} = {size};" in text
    ids = phrases(500_000, 131_072)
    traffic, reads = pair_traffic.by_partition(ids, pair_histogram(ids, threads=1))
    assert reads == 1
    assert traffic.merged == 16
    assert traffic.merged + traffic.rows < 25
    assert pair_traffic.bucket_bits(6_200_000) == 8
    assert pair_traffic.bucket_bits(10**9) == 14
