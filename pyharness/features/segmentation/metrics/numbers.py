"""Cuts of numbers by units: at the thousands, and equal in numbers of the same length.

A *number* is a maximal run of 4 to 63 ASCII digits. It is *aligned* if a unit ends at each of its thousands places,
counted from the right: ``1|234|567`` is, ``123|456|7`` is not. Single digits as units are always aligned. Two numbers
are *alike* if they have the same length and units end at the same places inside them: 1234 and 5678 as ``12|34`` and
``56|78``. A pair is a number and the next one of its length in the same text, unless their digits are the same: a
repeated number is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Undefined
from pyharness.types import PERCENT, Measurement, Metric, Segments, offsets_of

Integers = NDArray[np.int64]

SHORTEST, LONGEST = 4, 63  # digits: the places inside fit into 64 bits
NUMBERS, ALIGNED, PAIRS, ALIKE = SUMS = ("numbers", "aligned numbers", "number pairs", "number pairs alike")


def counts(encoded: Sequence[bytes], segments: Segments) -> dict[str, Integers]:
    """Count for texts in UTF-8 with their units, each int64 [texts]; 0 for texts that units do not spell.

    >>> segments = Segments.from_lists([[1, 4, 5, 9], [4, 5, 9]])
    >>> {name: values.tolist() for name, values in counts([b"1234 5678", b"1234 5678"], segments).items()}
    {'numbers': [2, 2], 'aligned numbers': [1, 0], 'number pairs': [1, 1], 'number pairs alike': [0, 1]}
    """
    data = b"\0".join((*encoded, b""))  # the end of a text ends a number
    begins = offsets_of([len(text) + 1 for text in encoded])[:-1]
    ends = np.zeros(len(data) + 1, np.bool_)
    ends[segments.ends + np.repeat(begins, np.diff(segments.offsets))] = True
    starts, stops = _runs(data)
    texts = np.searchsorted(begins, starts, "right") - 1
    spelled = ~segments.missing[texts]
    starts, stops, texts = starts[spelled], stops[spelled], texts[spelled]
    by_sum = dict.fromkeys(SUMS, np.zeros(0, np.int64))
    by_sum[NUMBERS] = texts
    by_sum[ALIGNED] = texts[_find_aligned(starts, stops, ends)]
    by_sum[PAIRS], by_sum[ALIKE] = _pairs(data, starts, stops, texts, ends)
    return {name: np.bincount(places, minlength=len(encoded)).astype(np.int64) for name, places in by_sum.items()}


def _runs(data: bytes) -> tuple[Integers, Integers]:
    """Return the starts and stops of numbers."""
    digits = np.frombuffer(data, np.uint8) - np.uint8(48) < 10  # smaller bytes wrap around
    edges = np.flatnonzero(np.diff(np.concatenate(([False], digits, [False]))))
    starts, stops = edges[::2], edges[1::2]
    kept = (stops - starts >= SHORTEST) & (stops - starts <= LONGEST)
    return starts[kept], stops[kept]


def _find_aligned(starts: Integers, stops: Integers, ends: NDArray[np.bool_]) -> NDArray[np.bool_]:
    aligned = np.ones(len(starts), np.bool_)
    for digits in range(3, LONGEST, 3):
        inside = stops - starts > digits
        if not inside.any():
            break
        aligned[inside] &= ends[stops[inside] - digits]
    return aligned


def _pairs(
    data: bytes, starts: Integers, stops: Integers, texts: Integers, ends: NDArray[np.bool_]
) -> tuple[Integers, Integers]:
    """Return the texts of all pairs, and of pairs that are alike."""
    order = np.lexsort((starts, stops - starts, texts))
    all_pairs, alike = [], []
    rows = zip(texts[order].tolist(), starts[order].tolist(), stops[order].tolist(), strict=True)
    for (text, start, stop), (other, next_start, next_stop) in pairwise(rows):
        same = text == other and stop - start == next_stop - next_start
        if same and data[start:stop] != data[next_start:next_stop]:
            all_pairs.append(text)
            if np.array_equal(ends[start + 1 : stop], ends[next_start + 1 : next_stop]):
                alike.append(text)
    return np.array(all_pairs, np.int64), np.array(alike, np.int64)


def measure(sums: Mapping[str, NDArray[Any]]) -> Iterator[Measurement]:
    """Yield every metric, from counters by group."""
    for metric, of, among, nothing in (
        (REPORTED[0], ALIGNED, NUMBERS, "no number has 4 to 63 digits"),
        (REPORTED[1], ALIKE, PAIRS, "no text has two different numbers of 4 to 63 digits and of one length"),
    ):
        yield jackknife.without_interval(metric.name, _share(sums, of, among, nothing), _FEW_DOCUMENTS)


def _share(sums: Mapping[str, NDArray[Any]], of: str, among: str, nothing: str) -> Callable[[jackknife.Groups], float]:
    def share(groups: jackknife.Groups) -> float:
        if not (whole := int(sums[among][groups].sum())):
            raise Undefined(nothing)
        return int(sums[of][groups].sum()) / whole

    return share


_FEW_DOCUMENTS = "a few documents may have most of the numbers, and rows that cut all alike no spread: held 7 to 98 %"
REPORTED = (
    Metric(
        "digit_alignment", "share", "higher", "numbers in which a unit ends at each of the thousands", format=PERCENT
    ),
    Metric(
        "digit_consistency", "share", "higher", "pairs of numbers of the same length that are cut alike", format=PERCENT
    ),
)
