"""Corpora in pieces that a device holds. Neighbouring chunks share one token: the right id of the last pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.kernels.arrays import describe
from pyharness.kernels.place import Place
from pyharness.types import Ids, InputError, Offsets

MOST_POSITIONS = 1 << 26  # of a chunk: 256 MB of ids, beyond which a copy gains nothing by being longer


def on_host(array: Any, name: str) -> NDArray[Any]:
    """A host array as NumPy's, without a copy."""
    if (where := describe(array, name).device).is_cuda:
        raise InputError(f"{name} is on {where}, the tokens on the host: copy it there")
    return array if isinstance(array, np.ndarray) else np.from_dlpack(array)


def bad_id(position: int, value: int) -> ValueError:
    """The error for an id that no uint32 holds."""
    return ValueError(f"tokens[{position}] = {value} is not an id: ids are 0..{0xFFFFFFFF}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Arrays on the device: ``tokens[i]`` is at position ``first + i`` of the corpus; offsets are the corpus's."""

    tokens: Any
    first: int
    offsets: Any
    weights: Any


@dataclass(frozen=True, slots=True)
class Segments:
    """Checked segments on the host."""

    offsets: Offsets | None
    weights: NDArray[Any] | None  # int64 or uint64

    @classmethod
    def on_host(cls, offsets: Any, weights: Any, total: int) -> Segments:
        """Check them with the core, in its own words."""
        if offsets is None and weights is None:
            return cls(None, None)
        offsets = np.array([0, total], np.int64) if offsets is None else offsets
        _core.check_segments(offsets, weights, total)
        return cls(offsets, weights)

    def within(self, first: int, last: int) -> tuple[Offsets | None, NDArray[Any] | None]:
        """Those that hold the positions ``first``..``last - 1``."""
        if self.offsets is None:
            return None, None
        low = int(np.searchsorted(self.offsets, first, "right")) - 1
        high = int(np.searchsorted(self.offsets, last - 1, "right"))
        return self.offsets[low : high + 1], None if self.weights is None else self.weights[low:high]


def chunk_positions(free: int, size: int, segments: Segments | None) -> int:
    """Positions per chunk: two chunks take a quarter of the free memory at most, and the table the rest."""
    segments_per_token = 0.0
    if segments is not None and segments.offsets is not None and size:
        segments_per_token = len(segments.offsets) / size
    bytes_per_position = 2 * (4 + 16 * segments_per_token)
    return max(1, min(MOST_POSITIONS, int(free / 4 / bytes_per_position)))


def host_chunks(tokens: Ids, segments: Segments, size: int, uploads: Any) -> Iterator[Chunk]:
    """The corpus in chunks of ``size`` positions, each on its way to the device while the one before is counted."""
    try:
        sent = None
        for first in range(0, len(tokens), size):
            earlier, sent = sent, uploads.send(_host_chunk(tokens, segments, first, size))
            if earlier is not None:
                yield uploads.receive(earlier)
        if sent is not None:
            yield uploads.receive(sent)
    finally:
        uploads.close()


def _host_chunk(tokens: Ids, segments: Segments, first: int, size: int) -> Chunk:
    part = tokens[first : first + size + 1]
    return Chunk(part, first, *segments.within(first, first + len(part)))


def narrowed_chunks(tokens: Any, offsets: Any, weights: Any, size: int, place: Place) -> Iterator[Chunk]:
    """int64 tokens of the device as uint32, chunk by chunk in the same memory."""
    narrow = place.empty((min(size + 1, len(tokens)),), "uint32", "a chunk of ids")
    for first in range(0, len(tokens), size):
        part = tokens[first : first + size + 1]
        ids = narrow[: len(part)]
        bad = place.module.find_bad_id(part, ids, **place.options)
        if bad >= 0:
            raise bad_id(first + bad, int(part[bad]))
        yield Chunk(ids, first, offsets, weights)
