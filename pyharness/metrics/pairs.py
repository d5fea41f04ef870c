"""Adjacent pairs: how much the current token says about the next one. Pairs never cross a document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.types import Measurement, Tokens


def measure(tokens: Tokens, threads: int = 1, device: str = "cpu") -> list[Measurement]:
    """Conditional entropy H(next | current) and mutual information in bits, over the pairs of a sample.

    Pairs are counted on ``device``; the counts, and so the numbers, are the same on any.
    """
    pairs = kernels.pair_histogram(tokens.ids, tokens.offsets, threads=threads, device=device)
    total = int(pairs.count.sum())
    if total == 0:
        reason = "no document of the sample has two tokens"
        return [Measurement(name, None, reason=reason) for name in ("bigram_entropy", "mutual_information")]
    joint = _entropy(pairs.count, total)
    left = _entropy(_margin(pairs.left, pairs.count), total)
    right = _entropy(_margin(pairs.right, pairs.count), total)
    return [
        Measurement("bigram_entropy", joint - left),
        Measurement("mutual_information", left + right - joint),
    ]


def _margin(ids: NDArray[np.uint32], count: NDArray[np.uint64]) -> NDArray[np.uint64]:
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order], prepend=np.uint32(ids[order[0]] ^ np.uint32(1))))
    return np.add.reduceat(count[order], starts)


def _entropy(count: NDArray[np.uint64], total: int) -> float:
    values = np.sort(count)[::-1].astype(np.float64)
    return float(np.log2(total) - (values * np.log2(values)).sum() / total) + 0.0
