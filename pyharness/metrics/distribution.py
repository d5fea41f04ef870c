"""Distribution: how evenly a tokenizer uses its vocabulary, and how much a token predicts the next in its document."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.metrics.counting.state import CorpusMetric, Counts, Shares, distinct_counts
from pyharness.statistics.jackknife import Undefined
from pyharness.types import Format, Measurement, Metric, Tokens

_MOST = "log2 V' (V and other ids that occur)"  # in descriptions
ALPHA = 2.5  # recommended by Zouhar et al. 2023 (Tokenization and the Noiseless Channel), section 5


def renyi_entropy(shares: Shares, alpha: float) -> float:
    """Return log2(sum p^alpha) / (1 - alpha) in bits; 1 is Shannon's, 0 is log2 of the types, inf is -log2 max p."""
    if alpha == 1:
        return -shares.renyi_sum(1) + 0.0
    if alpha == math.inf:
        return float(-np.log2(shares.distinct[0])) + 0.0
    if alpha == 0:
        return math.log2(int(shares.types.sum()))
    # If one type has nearly all of p, rounding can leave a sum above 1, and so an entropy of -1e-16.
    return max(0.0, float(np.log2(shares.renyi_sum(alpha)) / (1 - alpha)))  # in this order: max(-0.0, 0.0) is -0.0


def efficiency(entropy: float, types: int) -> float:
    """Return entropy as a share of the largest possible over ``types`` types, in 0..1; undefined below two types."""
    if types < 2:
        raise Undefined("fewer than two token types")
    return min(entropy / math.log2(types), 1.0)  # rounding can leave an even distribution one unit above


def percentile_frequency(p: NDArray[np.float64], low: float = 0.03, high: float = 0.83) -> float:
    """Return the mass of ranks [low, high) of descending probabilities (Gowda and May 2020; indices of the scorer)."""
    count = len(p)
    start, stop = min(int(count * low), count - 1), min(int(count * high), count - 1)
    if start == stop:
        start = max(0, start - 1)
    if start == stop:
        stop = min(count - 1, stop + 1)
    return float(p[start:stop].sum())


def _possible_types(counts: Counts) -> int:
    """Return V plus the other ids that occur (unknown and special tokens): the possible support of p."""
    # An engine that hides its vocabulary may emit ids outside V.
    return max(counts.facts.vocab_size + counts.uncounted_types, counts.types)


def _entropy(alpha: float) -> Callable[[Counts], float]:
    return lambda counts: renyi_entropy(counts.shares, alpha)


def renyi_efficiency(counts: Counts) -> float:
    """Return the entropy as a share of log2 of V and the other ids that occur: tokens that are never used lower it."""
    return efficiency(renyi_entropy(counts.shares, ALPHA), _possible_types(counts))


def renyi_efficiency_observed(counts: Counts) -> float:
    """Return the entropy as a share of log2 V_obs: the output of tokenization-scorer with power=2.5."""
    return efficiency(renyi_entropy(counts.shares, ALPHA), counts.types)


def redundancy(counts: Counts) -> float:
    """Return 1 - H / log2 of V and the other ids that occur (Scaffold-BPE, arXiv 2404.17808, App. A.1)."""
    return 1 - efficiency(renyi_entropy(counts.shares, 1), _possible_types(counts))


def vocabulary_used(counts: Counts) -> float:
    """Return ids of V that occur / V: unknown and special tokens are on neither side."""
    if counts.facts.vocab_size == 0:
        raise Undefined("the tokenizer has no vocabulary")
    used = counts.types - counts.uncounted_types
    if used > counts.facts.vocab_size:
        raise Undefined(f"the engine hides its vocabulary and emits ids beyond its V of {counts.facts.vocab_size:,}")
    return used / counts.facts.vocab_size


def mean_token_bytes(counts: Counts) -> float:
    """Return the mean length of an emitted token in bytes of its vocabulary entry."""
    if counts.facts.lengths is None:
        raise Undefined("this engine does not expose the bytes of its tokens")
    total = int(counts.histogram.sum())
    if total == 0:
        raise Undefined("no tokens were produced")
    if total * int(counts.facts.lengths.max()) < 1 << 63:
        return int(counts.facts.lengths @ counts.histogram.view(np.int64)) / total
    # Tokens times bytes may not fit 64 bits: Python's integers have room.
    return float(sum(map(operator.mul, counts.facts.lengths.tolist(), counts.histogram.tolist())) / total)


METRICS = (
    CorpusMetric(
        Metric("shannon_entropy", "bit", "none", "entropy of the token distribution", grows_with_text=True), _entropy(1)
    ),
    CorpusMetric(
        Metric("renyi_entropy_0", "bit", "none", "log2 of V_obs, the types that occur", grows_with_text=True),
        _entropy(0),
    ),
    CorpusMetric(Metric("renyi_entropy_2", "bit", "none", "Rényi entropy, alpha = 2"), _entropy(2)),
    CorpusMetric(Metric("renyi_entropy_2.5", "bit", "none", "Rényi entropy, alpha = 2.5"), _entropy(ALPHA)),
    CorpusMetric(
        Metric("renyi_entropy_inf", "bit", "none", "-log2 of the commonest token's share"), _entropy(math.inf)
    ),
    CorpusMetric(
        Metric("renyi_efficiency", "share", "higher", f"Rényi entropy (2.5) / {_MOST}", primary=True), renyi_efficiency
    ),
    CorpusMetric(
        Metric(
            "renyi_efficiency_observed",
            "share",
            "higher",
            "Rényi entropy (2.5) / log2 of observed types",
            grows_with_text=True,
        ),
        renyi_efficiency_observed,
    ),
    CorpusMetric(
        Metric("redundancy", "share", "lower", f"1 - Shannon entropy / {_MOST}", grows_with_text=True), redundancy
    ),
    CorpusMetric(
        Metric(
            "vocabulary_used",
            "share",
            "higher",
            "share of V seen in the corpus",
            primary=True,
            grows_with_text=True,
            format=Format("{:.1f}", 100, "%"),
        ),
        vocabulary_used,
    ),
    CorpusMetric(
        Metric(
            "percentile_frequency",
            "share",
            "higher",
            "mass of the frequency ranks from 3 % to 83 %",
            grows_with_text=True,
        ),
        lambda counts: percentile_frequency(counts.shares.all),
    ),
    CorpusMetric(Metric("mean_token_bytes", "byte", "none", "mean length of an emitted token"), mean_token_bytes),
)

REPORTED = (
    Metric(
        "bigram_entropy",
        "bit",
        "none",
        "entropy of the next token given the current one, on a sample",
        grows_with_text=True,
    ),
    Metric(
        "mutual_information", "bit", "none", "mutual information of adjacent tokens, on a sample", grows_with_text=True
    ),
)


# ---------------------------------------------------------------------------------------------- adjacent pairs


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Distribution of counts: ``types[k]`` things occur ``counts[k]`` times each, counts ascending."""

    counts: NDArray[np.uint64]
    types: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.uint64]) -> Spectrum:
        """Summarise the counts of single things."""
        return cls(*distinct_counts(counts))

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


def count_pairs(tokens: Tokens, threads: int = 1, device: str = "cpu") -> PairCounts:
    """Count the pairs of a sample, on ``device``: the counts are the same on any."""
    pairs = kernels.pair_histogram(tokens.ids, tokens.offsets, threads=threads, device=device)
    # Sums of floats are exact below 2**53, and a sample has fewer pairs.
    margins = (np.bincount(ids, pairs.count).astype(np.uint64) for ids in (pairs.left, pairs.right))
    return PairCounts(*map(Spectrum.of, (pairs.count, *margins)))


def measure_pairs(pairs: PairCounts) -> list[Measurement]:
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
