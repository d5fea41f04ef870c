"""Counts of adjacent pairs of ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, Offsets


@dataclass(frozen=True, slots=True)
class PairHistogram:
    """Row k: ``(left[k], right[k])`` occurs ``count[k]`` times. Counts fall, ties are in order of (left, right)."""

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    count: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.count)


def pair_histogram(
    ids: Ids,
    offsets: Offsets | None = None,
    weights: NDArray[np.int64] | NDArray[np.uint64] | None = None,
    threads: int = 1,
) -> PairHistogram:
    """Count adjacent pairs; ``(a, a)`` occurs twice in ``a a a``.

    Args:
        ids: uint32 [tokens]; any value.
        offsets: int64 [segments + 1]; no pair crosses a segment. Without it, all ids are one segment.
        weights: int64 or uint64 [segments], how often each segment counts.
        threads: native threads; the result does not depend on it.

    Raises:
        ValueError: offsets or weights do not fit, a weight is negative, or the weighted total leaves 64 bits.
        TypeError: an array has another dtype.

    Source: ``bigram_entropy`` in ``spec/metrics.md``; the same counts start BPE training.
    """
    if weights is not None and weights.dtype == np.int64:
        if weights.size and weights.min() < 0:
            raise ValueError(f"weights must not be negative: {weights.min()}")
        weights = weights.view(np.uint64)
    return PairHistogram(*_core.pair_histogram(ids, offsets, weights, threads))  # type: ignore[arg-type]
