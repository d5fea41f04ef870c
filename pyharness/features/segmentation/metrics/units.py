"""What is counted of the units of a whole text: their lengths, how many end inside a character, and cuts of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation.metrics import lengths, numbers
from pyharness.features.segmentation.metrics.lengths import NOTHING_SPELLED, UnitLengths, unit_lengths
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusState
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import PERCENT, Measurement, Metric, Segments, State, offsets_of

Flags = NDArray[np.bool_]
Groups = NDArray[np.uint8]


def inside_characters(encoded: Sequence[bytes], segments: Segments) -> Flags:
    """bool [units]: which units of texts in UTF-8 end inside a character."""
    data = np.frombuffer(b"".join((*encoded, b"\0")), np.uint8)
    starts = offsets_of(list(map(len, encoded)))[:-1]
    after = data[segments.ends + np.repeat(starts, np.diff(segments.offsets))]  # no text begins inside a character
    return np.asarray(after & 0xC0 == 0x80, np.bool_)


def add(state: CorpusState, name: str, groups: NDArray[Any], values: NDArray[Any]) -> None:
    """Add integers to a counter, each to its group."""
    sums = np.zeros(GROUPS, np.int64)
    np.add.at(sums, groups, values)
    state.add(name, sums)


@dataclass(slots=True)
class UnitCounts:
    """Units of a pass, by group of documents. Integers only; ``merge`` gives the pass over both shards."""

    state: CorpusState = field(default_factory=CorpusState.of_sums)
    lengths: UnitLengths = field(default_factory=UnitLengths.empty)

    def update(self, texts: Sequence[str], segments: Segments, groups: Groups, opens: Flags) -> None:
        """Add texts with their units; ``opens``: which are the first of a document. Raises ``NotSpelled``."""
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
        """Add what another pass counted."""
        self.state.merge(other.state)
        self.lengths.merge(other.lengths)

    def measurements(self) -> list[Measurement]:
        """Every metric of the whole text."""
        zeros = np.zeros(GROUPS, np.object_)
        documents, sizes = (self.state.counters.get(name, zeros).tolist() for name in ("documents", "bytes"))
        inside = jackknife.without_interval(REPORTED[0].name, lambda _: self.inside_character_share(), _FEW_DOCUMENTS)
        none = dict.fromkeys(numbers.SUMS, zeros)
        of_numbers = numbers.measure({**none, **self.state.counters})
        return [*lengths.measure(self.lengths, documents, sizes), inside, *of_numbers]

    def inside_character_share(self) -> float:
        """Units that end inside a character / units."""
        units, inside = (int(self.state.counters[name].sum()) for name in ("units", "inside characters"))
        if units == 0:
            raise Undefined(NOTHING_SPELLED)
        return inside / units

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays to keep beside a record."""
        return {**state_arrays.of_counters(self.state.counters), **self.lengths.arrays()}

    @classmethod
    def of_arrays(cls, arrays: State) -> UnitCounts:
        """Inverse of ``arrays``."""
        return cls(CorpusState.of_sums(state_arrays.counters_of(arrays)), UnitLengths.of_arrays(arrays))


_FEW_DOCUMENTS = "a few documents may have all of them: replicates held 27 to 95 %"
REPORTED = (
    Metric("units_ending_inside_characters", "share", "lower", "units that end inside a character", format=PERCENT),
)
