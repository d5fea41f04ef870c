"""Counting pairs on every backend, and the slow way, for the tests of the pair histogram."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from backends import SEEDS, Backend
from pyharness.kernels import PairHistogram, device_pairs, pair_histogram

Row = tuple[int, int, int]
WIDE = 2**32 - 1
CUDA = pytest.param(Backend("cuda"), marks=pytest.mark.cuda)
EMULATED = [Backend("emulated", str(seed)) for seed in SEEDS]
METHODS = ("partition", "sort", "dense")
# A cache that evicts, buckets of several parts that overflow, rounds that end anywhere: what big corpora do, on small
# inputs.
SMALL = {
    "threads": 32,
    "cache_slots": 8,
    "bucket_bits": 10,
    "bucket_slots": 2,
    "part_positions": 3,
    "positions_per_round": 7,
    "dense_ids": 64,
}

every_backend = pytest.mark.parametrize(
    "backend", [Backend("core", "portable"), *EMULATED, CUDA], indirect=True, ids=str
)
kernels_only = pytest.mark.parametrize("backend", [*EMULATED, CUDA], indirect=True, ids=str)
one_seed = pytest.mark.parametrize("backend", [EMULATED[1], CUDA], indirect=True, ids=str)
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setitem(device_pairs.TUNING, name, value)


def reference(documents: list[list[int]], weights: list[int] | None = None) -> list[Row]:
    counts: Counter[tuple[int, int]] = Counter()
    for position, ids in enumerate(documents):
        for pair in pairwise(ids):
            counts[pair] += 1 if weights is None else weights[position]
    return sorted(((*pair, n) for pair, n in counts.items() if n), key=lambda row: (-row[2], row[0], row[1]))


def rows(histogram: PairHistogram) -> list[Row]:
    columns = (np.asarray(column.get() if hasattr(column, "get") else column)
               for column in (histogram.left, histogram.right, histogram.count))  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def where(backend: Backend, method: str = "partition") -> dict[str, Any]:
    return {} if backend.kind == "core" else {"device": backend.kind, "method": method}


def count(backend: Backend, ids: list[int], *more: Any, method: str = "partition") -> list[Row]:
    return rows(pair_histogram(np.array(ids, np.uint32), *more, **where(backend, method)))


def tensor(backend: Backend, values: Any, dtype: str) -> Any:
    """A torch tensor where the backend works."""
    torch = pytest.importorskip("torch")
    found = torch.tensor(values, dtype=torch.int64).to(getattr(torch, dtype))
    return found.cuda() if backend.kind == "cuda" else found
