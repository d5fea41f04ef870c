"""Counts of the units of a whole text: lengths, ends inside characters, and cuts of numbers.

>>> import numpy as np
>>> lengths = UnitLengths.empty()
>>> lengths.add(np.array([3, 1, 3]), np.array([0, 0, 7]))
>>> lengths.lengths.tolist(), lengths.counts[[0, 7]].tolist()
([1, 3], [[1, 1], [0, 1]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation.metrics import numbers
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusState
from pyharness.metrics.counting.state_arrays import compact, taken
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import (
    COUNT,
    PERCENT,
    Format,
    InputError,
    Measurement,
    Metric,
    NotSpelled,
    Segments,
    State,
    offsets_of,
)

Lengths = NDArray[np.int64]  # bytes, from 1 on; in ``UnitLengths`` ascending and distinct
Counts = NDArray[np.int64]  # of units of each length
Flags = NDArray[np.bool_]
Groups = NDArray[np.uint8]
SHORT = 4096  # bytes
NOTHING_SPELLED = "no text is spelled by its units"
_NAMES = ("unit lengths", "unit counts")


def unit_lengths(segments: Segments, sizes: NDArray[np.int64]) -> Lengths:
    """Return the bytes of every unit of some texts, int64 [units]; ``sizes`` int64 [texts], in bytes.

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
    """Number of units of each length, by group. Integers only."""

    lengths: Lengths
    counts: Counts  # [GROUPS, lengths]

    @classmethod
    def empty(cls) -> UnitLengths:
        """Return the state without units."""
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
        """Return arrays to keep next to a record."""
        return dict(zip(_NAMES, (compact(self.lengths), compact(self.counts.reshape(-1))), strict=True))

    @classmethod
    def of_arrays(cls, arrays: State) -> UnitLengths:
        """Inverse of ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        lengths = taken(arrays, _NAMES[0]).astype(np.int64)
        counts = taken(arrays, _NAMES[1], GROUPS * len(lengths)).astype(np.int64).reshape(GROUPS, -1)
        if (np.diff(lengths, prepend=0) <= 0).any() or (counts < 0).any():
            raise InputError("the lengths of units do not increase, or a count is negative")
        return cls(lengths, counts)


@dataclass(slots=True)
class UnitCounts:
    """Units of a pass, by group of documents. Integers only; ``merge`` gives the pass over both shards."""

    state: CorpusState = field(default_factory=CorpusState.of_sums)
    lengths: UnitLengths = field(default_factory=UnitLengths.empty)

    def update(self, texts: Sequence[str], segments: Segments, groups: Groups, opens: Flags) -> None:
        """Add texts with their units; ``opens``: whether each is the first of a document. Raises ``NotSpelled``."""
        encoded = [text.encode() for text in texts]
        sizes = np.array(list(map(len, encoded)), np.int64)
        of_units = unit_lengths(segments, sizes)
        per_text = np.diff(segments.offsets)
        spelled = ~segments.missing
        self.lengths.add(of_units, np.repeat(groups, per_text))
        add(self.state, "documents", groups, opens & spelled)
        add(self.state, "pieces", groups, np.ones(len(texts), np.int64))
        add(self.state, "unspelled", groups, segments.missing)
        add(self.state, "bytes", groups, np.where(spelled, sizes, 0))
        add(self.state, "units", groups, per_text)
        inside = np.diff(offsets_of(inside_characters(encoded, segments))[segments.offsets])
        add(self.state, "inside characters", groups, inside)
        for name, values in numbers.counts(encoded, segments).items():
            add(self.state, name, groups, values)

    def merge(self, other: UnitCounts) -> None:
        """Add the counts of another pass."""
        self.state.merge(other.state)
        self.lengths.merge(other.lengths)

    def measurements(self) -> list[Measurement]:
        """Return every metric of the whole text."""
        zeros = np.zeros(GROUPS, np.object_)
        documents, sizes = (self.state.counters.get(name, zeros).tolist() for name in ("documents", "bytes"))
        inside = jackknife.without_interval(REPORTED[-1].name, lambda _: self.inside_character_share(), _FEW_DOCUMENTS)
        none = dict.fromkeys(numbers.SUMS, zeros)
        of_numbers = numbers.measure({**none, **self.state.counters})
        return [*measure_lengths(self.lengths, documents, sizes), inside, *of_numbers]

    def inside_character_share(self) -> float:
        """Return units that end inside a character / units."""
        units, inside = (int(self.state.counters[name].sum()) for name in ("units", "inside characters"))
        if units == 0:
            raise Undefined(NOTHING_SPELLED)
        return inside / units

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep next to a record."""
        return {**state_arrays.of_counters(self.state.counters), **self.lengths.arrays()}

    @classmethod
    def of_arrays(cls, arrays: State) -> UnitCounts:
        """Inverse of ``arrays``."""
        return cls(CorpusState.of_sums(state_arrays.counters_of(arrays)), UnitLengths.of_arrays(arrays))


def inside_characters(encoded: Sequence[bytes], segments: Segments) -> Flags:
    """Return bool [units]: whether a unit of UTF-8 texts ends inside a character."""
    data = np.frombuffer(b"".join((*encoded, b"\0")), np.uint8)
    starts = offsets_of(list(map(len, encoded)))[:-1]
    after = data[segments.ends + np.repeat(starts, np.diff(segments.offsets))]  # no text begins inside a character
    return np.asarray(after & 0xC0 == 0x80, np.bool_)


def add(state: CorpusState, name: str, groups: NDArray[Any], values: NDArray[Any]) -> None:
    """Add integers to a counter, each to its group."""
    sums = np.zeros(GROUPS, np.int64)
    np.add.at(sums, groups, values)
    state.add(name, sums)


def measure_lengths(state: UnitLengths, documents: Sequence[int], sizes: Sequence[int]) -> list[Measurement]:
    """Return every metric of lengths; ``documents``: number of uncut documents by group, ``sizes``: their bytes."""
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


def _units(counts: Counts) -> int:
    units = int(counts.sum())
    if units == 0:
        raise Undefined(NOTHING_SPELLED)
    return units


def bytes_per_unit(lengths: Lengths, counts: Counts) -> float:
    """Return bytes of text per unit."""
    return int((lengths * counts).sum()) / _units(counts)


def units_per_1000_bytes(lengths: Lengths, counts: Counts) -> float:
    """Return 1000 * units / bytes: for a byte-latent transformer, the steps of its global model per 1000 bytes."""
    return 1000 * _units(counts) / int((lengths * counts).sum())


def deviation(lengths: Lengths, counts: Counts) -> float:
    """Return the standard deviation of the lengths of all units; their squares may exceed 64 bits."""
    units, total = _units(counts), int((lengths * counts).sum())
    squares = sum(length * length * count for length, count in zip(lengths.tolist(), counts.tolist(), strict=True))
    return math.sqrt(units * squares - total * total) / units


def percentile(share: int) -> Callable[[Lengths, Counts], int]:
    """Return the function for the smallest length that ``share`` per cent of the units do not exceed."""

    def of(lengths: Lengths, counts: Counts) -> int:
        return int(lengths[np.searchsorted(np.cumsum(counts) * 100, share * _units(counts))])

    return of


def largest(lengths: Lengths, counts: Counts) -> int:
    """Return the bytes of the longest unit."""
    _units(counts)
    return int(lengths[np.flatnonzero(counts)[-1]])


_WHOLE_NUMBER = "a whole number of bytes, which leaving out a group mostly does not move"
_INVERSE = "it is 1,000 / bytes_per_unit, which has one"
_FEW_LONG = "a few long units decide it: of code, replicates held 91 % and 79 % in pairs"
# Metric, its function of lengths and their counts, and the reason for a missing interval.
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
_FEW_DOCUMENTS = "a few documents may have all of them: replicates held 27 to 95 %"
REPORTED = (
    *(metric for metric, *_ in _METRICS),
    Metric("units_ending_inside_characters", "share", "lower", "units that end inside a character", format=PERCENT),
)
