"""The interval of any measurement, from its raw values."""

from __future__ import annotations

from pyharness.statistics.jackknife import interval, lack
from pyharness.statistics.rounds import ratio_interval
from pyharness.statistics.samples import median_interval
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
