"""Raw values of a measurement: its interval; of timings the median, the noise, and when a series is long enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

from pyharness.statistics.jackknife import interval, lack
from pyharness.statistics.rounds import ratio_interval
from pyharness.types import Measurement

MOST_SAMPLES = 1000  # binomial probabilities of more samples are too small for a float


def interval_of(measurement: Measurement) -> tuple[float, float] | None:
    """Return the 95 % interval of a value: of paired ratios, of the median of samples, or from jackknife replicates."""
    if measurement.value is None or measurement.no_interval is not None:
        return None
    if measurement.paired:
        return ratio_interval(measurement.samples)
    if measurement.samples:
        return median_interval(measurement.samples[:: -(-len(measurement.samples) // MOST_SAMPLES)])
    return interval(measurement.value, measurement.replicates)


def lack_of(measurement: Measurement) -> str | None:
    """Return why there is no value, or no interval; an older record does not say, so its replicates decide."""
    if reason := measurement.reason or measurement.no_interval:
        return reason
    return lack(measurement.replicates) if measurement.replicates and not measurement.samples else None


def median(values: Sequence[float]) -> float:
    """Return the middle of the sorted values."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return an interval of the median from order statistics, at least 95 %; None below six values (no such pair)."""
    count = len(values)
    ordered = sorted(values)
    outside = 0.5**count  # P(fewer than k+1 of n fair coins fall below the median), k = 0
    term, k = outside, 0
    if outside > 0.025:
        return None
    while outside + term * (count - k) / (k + 1) <= 0.025:
        term *= (count - k) / (k + 1)
        k += 1
        outside += term
    return ordered[k], ordered[count - 1 - k]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a series of timings is long enough.

    At least ``min_samples`` samples that take ``min_seconds`` together. Then it ends as soon as the noise is at most
    ``max_noise``, or has settled above it: an inherently noisy machine never gets there. The loop that takes the
    samples ends a series at ``max_seconds`` in any case.

    Source: ``nvbench/detail/stdrel_criterion.cxx`` of NVIDIA's nvbench, whose 5 % are kept; its window has 64 to 512.
    """

    min_samples: int = 10
    min_seconds: float = 0.5
    max_noise: float = 0.005
    max_seconds: float = 15.0
    window: int = 64
    settled: float = 0.05


@dataclass(slots=True)
class Timings:
    """Timings in seconds, in order, with the running figures of the rule: constant work per sample."""

    rule: StoppingRule = field(default_factory=StoppingRule)
    samples: list[float] = field(default_factory=list)
    _mean: float = 0.0
    _squares: float = 0.0  # sum of squared distances from the mean (Welford)
    _noises: deque[float] = field(default_factory=deque)

    def add(self, seconds: float) -> None:
        """Add a sample."""
        self.samples.append(seconds)
        distance = seconds - self._mean
        self._mean += distance / len(self.samples)
        self._squares += distance * (seconds - self._mean)
        self._noises.append(self.noise)
        if len(self._noises) > self.rule.window:
            self._noises.popleft()

    @property
    def noise(self) -> float:
        """Standard deviation over mean; infinite below two samples."""
        if len(self.samples) < 2:
            return inf
        return sqrt(self._squares / (len(self.samples) - 1)) / self._mean if self._mean > 0 else 0.0

    @property
    def enough(self) -> bool:
        """Whether the rule ends the series here."""
        count = len(self.samples)
        if count < self.rule.min_samples or self._mean * count < self.rule.min_seconds:
            return False
        if self.noise <= self.rule.max_noise:
            return True
        if len(self._noises) < self.rule.window:
            return False
        spread = sum((noise - self.noise) ** 2 for noise in self._noises) / len(self._noises)
        return sqrt(spread) < self.rule.settled * self.noise


def noise(samples: Sequence[float]) -> float | None:
    """Return the standard deviation over the mean; None below two samples."""
    series = Timings()
    for sample in samples:
        series.add(sample)
    return series.noise if len(samples) > 1 else None
