"""Adjacent pairs: how much one token predicts the next. Pairs never cross a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.types import Measurement, Tokens


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Distribution of counts: ``types[k]`` things occur ``counts[k]`` times each, counts ascending."""

    counts: NDArray[np.uint64]
    types: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.uint64]) -> Spectrum:
        """Summarise the counts of single things."""
        return cls(*np.unique(counts, return_counts=True))

    @property
    def total(self) -> int:
        """Sum of all counts: the number of pairs."""
        return sum(count * types for count, types in zip(self.counts.tolist(), self.types.tolist(), strict=True))

    def entropy(self) -> float:
        """Entropy of the distribution over things, in bits."""
        values = np.repeat(self.counts, self.types)[::-1].astype(np.float64)
        return float(np.log2(self.total) - (values * np.log2(values)).sum() / self.total) + 0.0


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Counts that entropies of pairs need: spectra of the pairs, and of their left and right ids."""

    joint: Spectrum
    left: Spectrum
    right: Spectrum


def count(tokens: Tokens, threads: int = 1, device: str = "cpu") -> PairCounts:
    """Count the pairs of a sample, on ``device``: the counts are the same on any."""
    pairs = kernels.pair_histogram(tokens.ids, tokens.offsets, threads=threads, device=device)
    margins = (Spectrum.of(_margin(ids, pairs.count)) for ids in (pairs.left, pairs.right))
    return PairCounts(Spectrum.of(pairs.count), *margins)


def measure(pairs: PairCounts) -> list[Measurement]:
    """Return conditional entropy H(next | current) and mutual information in bits, over the pairs of a sample."""
    if pairs.joint.total == 0:
        reason = "no document of the sample has two tokens"
        return [Measurement(name, None, reason=reason) for name in ("bigram_entropy", "mutual_information")]
    joint, left, right = (spectrum.entropy() for spectrum in (pairs.joint, pairs.left, pairs.right))
    # Neither is ever below 0; rounding can leave -1e-16.
    return [
        Measurement("bigram_entropy", max(joint - left, 0.0)),
        Measurement("mutual_information", max(left + right - joint, 0.0)),
    ]


def _margin(ids: NDArray[np.uint32], count: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if not len(ids):
        return count
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order], prepend=np.uint32(ids[order[0]] ^ np.uint32(1))))
    return np.add.reduceat(count[order], starts)
