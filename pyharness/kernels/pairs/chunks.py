"""Corpora in pieces that a device holds. Neighbouring chunks share one token: the right id of the last pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels.pairs.pair_histogram import bad_id, unsigned
from pyharness.types import Ids, Offsets

MOST_POSITIONS = 1 << 26  # of a chunk: 256 MB of ids, beyond which a copy gains nothing by being longer


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
    weights: NDArray[np.uint64] | None

    @classmethod
    def on_host(cls, offsets: Any, weights: Any, total: int) -> Segments:
        """Check them as the core does."""
        if offsets is not None:
            _check_offsets(offsets, total)
        if weights is None:
            return cls(offsets, None)
        if offsets is None:
            offsets = np.array([0, total], np.int64)
        if weights.dtype not in (np.int64, np.uint64):
            raise TypeError(f"weights must have dtype int64 or uint64, not {weights.dtype}")
        if weights.shape != (len(offsets) - 1,):
            raise ValueError(f"weights must hold {len(offsets) - 1} values, not {weights.size}")
        weights = unsigned(weights)
        _check_total(offsets, weights)
        return cls(offsets, weights)

    def within(self, first: int, last: int) -> tuple[Offsets | None, NDArray[np.uint64] | None]:
        """Those that hold the positions ``first``..``last - 1``."""
        if self.offsets is None:
            return None, None
        low = int(np.searchsorted(self.offsets, first, "right")) - 1
        high = int(np.searchsorted(self.offsets, last - 1, "right"))
        return self.offsets[low : high + 1], None if self.weights is None else self.weights[low:high]


def _check_offsets(offsets: NDArray[Any], total: int) -> None:
    if offsets.dtype != np.int64:
        raise TypeError(f"offsets must have dtype int64, not {offsets.dtype}")
    if offsets.ndim != 1:
        raise ValueError("offsets must have one dimension")
    if not offsets.size:
        raise ValueError("offsets must hold at least one value")
    if offsets[0] != 0:
        raise ValueError("offsets must start at 0")
    if (falls := offsets[1:] < offsets[:-1]).any():
        at = int(falls.argmax()) + 1
        raise ValueError(f"offsets must not fall: offsets[{at}] = {offsets[at]} after {offsets[at - 1]}")
    if offsets[-1] != total:
        raise ValueError(f"offsets must end at {total}, the number of items, not at {offsets[-1]}")


def _check_total(offsets: Offsets, weights: NDArray[np.uint64]) -> None:
    pairs = np.maximum(np.diff(offsets) - 1, 0)
    # Far from the limit the rounding of float64 decides nothing; near it Python's integers do.
    if float(np.dot(pairs.astype(np.float64), weights.astype(np.float64))) < 2.0**63:
        return
    if sum(length * weight for length, weight in zip(pairs.tolist(), weights.tolist(), strict=True)) >= 1 << 64:
        raise ValueError("the weighted number of pairs does not fit 64 bits")


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


def narrowed_chunks(tokens: Any, offsets: Any, weights: Any, size: int, workspace: Any) -> Iterator[Chunk]:
    """int64 tokens of the device as uint32, chunk by chunk in the same memory."""
    place = workspace.place
    narrow = workspace.empty(min(size + 1, len(tokens)), "uint32", "a chunk of ids")
    for first in range(0, len(tokens), size):
        part = tokens[first : first + size + 1]
        ids = narrow[: len(part)]
        bad = place.module.find_bad_id(part, ids, workspace.allocate, place.stream)
        if bad >= 0:
            raise bad_id(first + bad, int(part[bad]))
        yield Chunk(ids, first, offsets, weights)
