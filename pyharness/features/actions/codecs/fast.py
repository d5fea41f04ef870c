"""FAST: cosine transform along time, rounded, and byte-pair encoding over the whole numbers (arXiv 2501.09747)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.actions.codecs import values
from pyharness.features.actions.codecs.integer_bpe import IntegerBpe
from pyharness.features.actions.codecs.quantiles import OfQuantiles, Quantiles
from pyharness.features.actions.codecs.transform import restored, transformed
from pyharness.features.actions.types import Damaged
from pyharness.types import Digest, Ids

Values = NDArray[np.float64]
Integers = NDArray[np.int64]


def coefficients(normalised: Values, scale: float) -> Integers:
    """Rounded coefficients, flattened by frequency and then dimension: the lowest of every dimension first.

    >>> coefficients(np.array([[0.5, -0.25]] * 4), 10).tolist()
    [10, -5, 0, 0, 0, 0, 0, 0]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        return values.rounded(transformed(normalised) * scale).ravel()


def chunk_of(numbers: Integers, frames: int, scale: float) -> Values:
    """Inverse of ``coefficients`` but for the rounding: float64 [frames, dimensions]."""
    return restored(numbers.reshape(frames, -1) / scale)


@dataclass(frozen=True)
class FastCodec(OfQuantiles):
    """A fitted codec. What lies outside the fitted range of coefficients is escaped, and nothing is lost."""

    scale: float
    bpe: IntegerBpe
    trained_on: frozenset[Digest] = frozenset()
    notes: tuple[str, ...] = ()
    skip: int = 0
    lossless: bool = True
    zeros_for_damaged: bool = False

    @classmethod
    def fit(
        cls,
        chunks: Sequence[Values],
        quantiles: Quantiles,
        scale: float,
        vocab_size: int,
        progress: Callable[[int], None] | None = None,
    ) -> FastCodec:
        """Learn what is merged from chunks in units of the data. Raises ``InputError``, as ``IntegerBpe.fit``."""
        numbers = [coefficients(quantiles.normalised(chunk), scale) for chunk in chunks]
        return cls(quantiles, scale, IntegerBpe.fit(numbers, vocab_size, progress=progress))

    @property
    def vocab_size(self) -> int:
        """Ids in all."""
        return self.bpe.vocab_size

    @property
    def header(self) -> Mapping[str, Any]:
        """What decoding needs beside the vocabulary."""
        return {"codec": "fast", "dimensions": self.dimensions, "minimum": self.bpe.minimum, "scale": self.scale}

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the record keeps."""
        return {**self.header, "maximum": self.bpe.maximum, "rules": len(self.bpe.rules), "vocab_size": self.vocab_size}

    def quantised(self, frames: Values) -> Integers:
        """Coefficients, as ``coefficients`` lays them out."""
        values.check(frames, self.dimensions)
        return coefficients(self.normalised(frames), self.scale)

    def outside(self, numbers: Integers) -> int:
        """Coefficients outside the fitted range."""
        return int(self.bpe.outside(numbers).sum())

    def encode(self, numbers: Integers) -> Ids:
        """Ids of a chunk."""
        return self.bpe.encode(numbers)

    def decode(self, ids: Ids, frames: int) -> Integers:
        """Coefficients of a chunk."""
        numbers = self.bpe.decode(ids, frames * self.dimensions)
        if len(numbers) != frames * self.dimensions:
            raise Damaged(
                f"the ids stand for {len(numbers):,} coefficients, and a chunk of {frames} frames of "
                f"{self.dimensions} has {frames * self.dimensions:,}"
            )
        return numbers

    def restored(self, numbers: Integers, frames: int) -> Values:
        """Frames in units of the data."""
        return self.quantiles.restored(chunk_of(numbers, frames, self.scale))
