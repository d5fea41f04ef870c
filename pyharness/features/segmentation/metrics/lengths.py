"""How long units are: counts of every length by group, and metrics that are functions of these.

>>> import numpy as np
>>> lengths = UnitLengths.empty()
>>> lengths.add(np.array([3, 1, 3]), np.array([0, 0, 7]))
>>> lengths.lengths.tolist(), lengths.counts[[0, 7]].tolist()
([1, 3], [[1, 1], [0, 1]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state_arrays import compact, taken
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import COUNT, Format, InputError, Measurement, Metric, NotSpelled, Segments, State

Lengths = NDArray[np.int64]  # ascending, each once, of 1 byte and more
Counts = NDArray[np.int64]  # of units of each length

SHORT = 4096  # bytes
NOTHING_SPELLED = "no text is spelled by its units"
_NAMES = ("unit lengths", "unit counts")


def unit_lengths(segments: Segments, sizes: NDArray[np.int64]) -> Lengths:
    """Bytes of every unit of some texts, end to end, int64 [units]; ``sizes`` int64 [texts], in bytes.

    Raises ``NotSpelled`` unless the ends of every text increase strictly up to its size; missing texts have none.
    """
    if (fault := segments.fault(sizes)) is not None:
        raise NotSpelled(fault)
    lengths = np.diff(segments.ends, prepend=0)
    firsts = segments.offsets[:-1][np.diff(segments.offsets) > 0]
    lengths[firsts] = segments.ends[firsts]
    return np.asarray(lengths, np.int64)


@dataclass(slots=True)
class UnitLengths:
    """How many units have each length, by group. Integers only."""

    lengths: Lengths
    counts: Counts  # [GROUPS, lengths]

    @classmethod
    def empty(cls) -> UnitLengths:
        """No units yet."""
        return cls(np.zeros(0, np.int64), np.zeros((GROUPS, 0), np.int64))

    def add(self, lengths: Lengths, groups: NDArray[Any]) -> None:
        """Add units with their groups, both [units]."""
        width = int(lengths.max(initial=0)) + 1
        if width <= SHORT:  # twenty times as fast as sorting 5 million units
            distinct, which = np.arange(width), lengths
        else:
            distinct, which = np.unique(lengths, return_inverse=True)
        flat = np.bincount(groups.astype(np.int64) * len(distinct) + which, minlength=GROUPS * len(distinct))
        counts = flat.reshape(GROUPS, -1).astype(np.int64)
        met = counts.any(axis=0)
        self.merge(UnitLengths(distinct[met], counts[:, met]))

    def merge(self, other: UnitLengths) -> None:
        """Add the units of another pass."""
        lengths = np.union1d(self.lengths, other.lengths)
        counts = np.zeros((GROUPS, len(lengths)), np.int64)
        for part in (self, other):
            counts[:, np.searchsorted(lengths, part.lengths)] += part.counts
        self.lengths, self.counts = lengths, counts

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays to keep beside a record."""
        return dict(zip(_NAMES, (compact(self.lengths), compact(self.counts.reshape(-1))), strict=True))

    @classmethod
    def of_arrays(cls, arrays: State) -> UnitLengths:
        """Inverse of ``arrays``; raises ``InputError`` for arrays that contradict each other."""
        lengths = taken(arrays, _NAMES[0]).astype(np.int64)
        counts = taken(arrays, _NAMES[1], GROUPS * len(lengths)).astype(np.int64).reshape(GROUPS, -1)
        if (np.diff(lengths, prepend=0) <= 0).any() or (counts < 0).any():
            raise InputError("the lengths of units do not increase, or a count is negative")
        return cls(lengths, counts)


# ---------------------------------------------------------------------------------------------- metrics


def bytes_per_unit(lengths: Lengths, counts: Counts) -> float:
    """B / U: bytes of text per unit."""
    return int((lengths * counts).sum()) / _units(counts)


def units_per_1000_bytes(lengths: Lengths, counts: Counts) -> float:
    """1000 U / B: of a byte-latent transformer, the steps of its global model."""
    return 1000 * _units(counts) / int((lengths * counts).sum())


def deviation(lengths: Lengths, counts: Counts) -> float:
    """Standard deviation of the lengths of all units; their squares may pass 64 bits."""
    units, total = _units(counts), int((lengths * counts).sum())
    squares = sum(length * length * count for length, count in zip(lengths.tolist(), counts.tolist(), strict=True))
    return math.sqrt(units * squares - total * total) / units


def percentile(share: int) -> Callable[[Lengths, Counts], int]:
    """Return the function that gives the smallest length that ``share`` per cent of the units do not exceed."""

    def of(lengths: Lengths, counts: Counts) -> int:
        return int(lengths[np.searchsorted(np.cumsum(counts) * 100, share * _units(counts))])

    return of


def largest(lengths: Lengths, counts: Counts) -> int:
    """Bytes of the longest unit."""
    _units(counts)
    return int(lengths[np.flatnonzero(counts)[-1]])


def _units(counts: Counts) -> int:
    units = int(counts.sum())
    if units == 0:
        raise Undefined(NOTHING_SPELLED)
    return units


def measure(state: UnitLengths, documents: Sequence[int], sizes: Sequence[int]) -> list[Measurement]:
    """Every metric of lengths; ``documents``: uncut ones of every group, ``sizes``: their bytes."""
    measurements = []
    for metric, compute, no_interval in _METRICS:

        def of(groups: jackknife.Groups, compute: Callable[[Lengths, Counts], float] = compute) -> float:
            return compute(state.lengths, state.counts[groups].sum(axis=0))

        measurements.append(
            jackknife.estimate(metric.name, documents, of, sizes=sizes)
            if no_interval is None
            else jackknife.without_interval(metric.name, of, no_interval)
        )
    return measurements


_WHOLE_NUMBER = "a whole number of bytes, which leaving out a group mostly does not move"
_INVERSE = "it is 1,000 / bytes_per_unit, which has one"
_FEW_LONG = "a few long units decide it: of code, replicates held 91 % and 79 % in pairs"
# Metric, its function of lengths and their counts, and why it has no interval.
_METRICS: tuple[tuple[Metric, Callable[[Lengths, Counts], float], str | None], ...] = (
    (
        Metric("bytes_per_unit", "byte/unit", "higher", "bytes of text per unit, ratio of sums", primary=True),
        bytes_per_unit,
        None,
    ),
    (
        Metric("unit_bytes_deviation", "byte", "none", "standard deviation of the bytes of a unit"),
        deviation,
        _FEW_LONG,
    ),
    (
        Metric(
            "units_per_1000_bytes",
            "unit/kB",
            "lower",
            "units per 1,000 bytes: steps of a byte-latent model's global part",
            format=Format("{:.1f}"),
        ),
        units_per_1000_bytes,
        _INVERSE,
    ),
    (
        Metric("unit_bytes_p50", "byte", "none", "length that half of the units do not exceed", format=COUNT),
        percentile(50),
        _WHOLE_NUMBER,
    ),
    (
        Metric("unit_bytes_p99", "byte", "none", "length that 99 % of the units do not exceed", format=COUNT),
        percentile(99),
        _WHOLE_NUMBER,
    ),
    (
        Metric("largest_unit", "byte", "none", "bytes of the longest unit", grows_with_text=True, format=COUNT),
        largest,
        _WHOLE_NUMBER,
    ),
)
REPORTED = tuple(metric for metric, *_ in _METRICS)
