"""Uniform bins, one id per value: the baseline for FAST. Values beyond the outer bins are clamped to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.features.actions.codecs.quantiles import Integers, OfQuantiles, Values, check_chunk, rounded
from pyharness.features.actions.types import Damaged
from pyharness.types import Digest, Ids


@dataclass(frozen=True)
class BinCodec(OfQuantiles):
    """Codec that maps a value to one of ``bins`` equal bins of -1 to 1, and back to the middle of the bin."""

    bins: int
    trained_on: frozenset[Digest] = frozenset()
    notes: tuple[str, ...] = ()
    skip: int = 0
    lossless: bool = False
    zeros_for_damaged: bool = False

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return self.bins

    @property
    def header(self) -> Mapping[str, Any]:
        """Return the kind of codec, its dimensions and its bins."""
        return {"codec": "bins", "dimensions": self.dimensions, "bins": self.bins}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings for the record."""
        return {**self.header, "vocab_size": self.vocab_size}

    def quantised(self, frames: Values) -> Integers:
        """Return the numbers of bins, frame by frame; values outside get the numbers of further bins."""
        check_chunk(frames, self.dimensions)
        normalised = self.normalised(frames)
        with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused later
            places = np.floor((normalised + 1) / 2 * self.bins)
        places[normalised == 1] = self.bins - 1
        return rounded(places).ravel()

    def outside(self, numbers: Integers) -> int:
        """Count the values that are clamped."""
        return int(((numbers < 0) | (numbers >= self.bins)).sum())

    def encode(self, numbers: Integers) -> Ids:
        """Encode a chunk to ids."""
        return np.clip(numbers, 0, self.bins - 1).astype(np.uint32)

    def decode(self, ids: Ids, frames: int) -> Integers:
        """Decode ids to the numbers of bins."""
        if len(ids) and int(ids.max()) >= self.bins:
            raise Damaged(f"id {int(ids.max()):,} is not in the vocabulary, which ends at {self.bins - 1:,}")
        if len(ids) != frames * self.dimensions:
            raise Damaged(
                f"there are {len(ids):,} ids; a chunk of {frames} frames of {self.dimensions} has "
                f"{frames * self.dimensions:,}"
            )
        return ids.astype(np.int64)

    def restored(self, numbers: Integers, frames: int) -> Values:
        """Return the middles of the bins, in units of the data."""
        return self.quantiles.restored((numbers.reshape(frames, -1) + 0.5) / self.bins * 2 - 1)
