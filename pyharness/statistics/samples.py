"""Samples of a time: median, percentile, and the interval of the median."""

from __future__ import annotations

from collections.abc import Sequence


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
