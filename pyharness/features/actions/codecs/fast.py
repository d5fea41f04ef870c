"""FAST: cosine transform along time, rounding, and byte-pair encoding of the whole numbers (arXiv 2501.09747).

The transform is the orthonormal DCT-II. Numbers outside of the fitted range are escaped. Ids are, in this order: one
for each number from the least to the greatest that occurred; one for each new result of a merge; the escape and its 16
digits. A number outside is the escape, then its distance from the range in groups of 3 bits, the lowest first; a digit
with 8 added has a successor. Distances are in zigzag order: 0 is just above the greatest, 1 just below the least, and
so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.encoders import BpeEncoder
from pyharness.bpe.training.trainer import WeightedPieces, train
from pyharness.features.actions.codecs.quantiles import Integers, OfQuantiles, Quantiles, Values, check_chunk, rounded
from pyharness.features.actions.types import Damaged
from pyharness.types import Digest, Ids, InputError, MergeModel, offsets_of

RESERVED = 17  # the escape and its digits
LARGEST_ALPHABET = 1 << 20
SYMBOL_BYTES = 4  # of a base symbol's string: BPE merges strings, and these have one length
MOST_DIGITS = 21  # groups of 3 bits in 63


def cosine_transform(values: Values) -> Values:
    """Transform a chunk: float64 [frames, dimensions] -> [frequencies, dimensions], the lowest frequency first.

    ``c[k] = s[k] sum_t x[t] cos(pi (t + 1/2) k / T)``, ``s[0] = sqrt(1 / T)``, else ``sqrt(2 / T)``: norms stay.

    >>> abs(cosine_transform(np.full((4, 1), 0.5))).round(12).ravel().tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    return _scales(len(values)) * (_cosines(len(values)) @ values)


def inverse_cosine_transform(coefficients: Values) -> Values:
    """Inverse of ``cosine_transform``."""
    return _cosines(len(coefficients)).T @ (_scales(len(coefficients)) * coefficients)


@lru_cache(maxsize=4)
def _cosines(frames: int) -> Values:
    """Return float64 [frequency, frame]. Angles are reduced as whole numbers, so that their rounding stays small."""
    steps = np.arange(frames, dtype=np.int64)
    angles = (2 * steps[None, :] + 1) * steps[:, None] % (4 * frames)
    cosines: Values = np.cos(angles * (np.pi / (2 * frames)))
    return cosines


def _scales(frames: int) -> Values:
    scales = np.full((frames, 1), np.sqrt(2 / frames))
    scales[:1] = np.sqrt(1 / frames)
    return scales


@dataclass(frozen=True)
class IntegerBpe:
    """BPE over ``alphabet`` numbers from ``minimum`` on, with its merge rules in their order.

    A rule is a left id, a right id and their result: the next id, or an earlier one with the same numbers.
    """

    minimum: int
    alphabet: int
    rules: NDArray[np.uint32]  # [rules, 3]

    @classmethod
    def fit(
        cls,
        sequences: Sequence[Integers],
        vocab_size: int,
        min_frequency: int = 2,
        progress: Callable[[int], None] | None = None,
    ) -> IntegerBpe:
        """Learn merges from sequences of numbers; no pair crosses sequences.

        Raises:
            InputError: there is no number, or ``vocab_size`` has no room for all numbers between the least and the
                greatest and for the escape.
        """
        joined = np.concatenate([np.zeros(0, np.int64), *sequences])
        if not len(joined):
            raise InputError("there is nothing to learn from: the training part has no chunk")
        minimum, alphabet = int(joined.min()), int(joined.max() - joined.min()) + 1
        if alphabet + RESERVED > vocab_size or alphabet > LARGEST_ALPHABET:
            raise InputError(
                f"vocab_size={vocab_size:,} is too small: the coefficients of the training part are {minimum:,} to "
                f"{minimum + alphabet - 1:,}, which takes {alphabet:,} ids, and {RESERVED} are for what lies outside; "
                "give a larger one, or a smaller scale="
            )
        data = np.arange(alphabet, dtype=">u4").view(np.uint8)
        pieces = WeightedPieces(
            (joined - minimum).astype(np.uint32), offsets_of([len(one) for one in sequences]),
            np.ones(len(sequences), np.uint64), data, np.arange(alphabet + 1, dtype=np.int64) * SYMBOL_BYTES,
        )  # fmt: skip
        trained = train(pieces, vocab_size - RESERVED, min_frequency=min_frequency, progress=progress)
        return cls(minimum, alphabet, trained.rules)

    @property
    def maximum(self) -> int:
        """Greatest number with an id."""
        return self.minimum + self.alphabet - 1

    @property
    def escape(self) -> int:
        """Id before a number outside of the range."""
        return max(self.alphabet, int(self.rules[:, 2].max(initial=0)) + 1)

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return self.escape + RESERVED

    def outside(self, numbers: Integers) -> NDArray[np.bool_]:
        """Return whether each number needs an escape."""
        return (numbers < self.minimum) | (numbers > self.maximum)

    def encode(self, numbers: Integers) -> Ids:
        """Encode a sequence; escaped numbers cut it."""
        places = np.flatnonzero(self.outside(numbers))
        parts: list[Ids] = []
        start = 0
        for place in [*places.tolist(), len(numbers)]:
            if place > start:
                parts.append(self._encoder.encode((numbers[start:place] - self.minimum).astype(np.uint32)))
            if place < len(numbers):
                parts.append(np.array(list(self._escape(int(numbers[place]))), np.uint32))
            start = place + 1
        return np.concatenate([np.zeros(0, np.uint32), *parts])

    def decode(self, ids: Ids, most: int) -> Integers:
        """Inverse of ``encode``.

        Args:
            ids: uint32 [ids]
            most: largest number of results, which bounds memory.

        Raises:
            Damaged: the ids are of no sequence of numbers, or of one with more than ``most``.
        """
        listed = ids.tolist()
        if listed and max(listed) >= self.vocab_size:
            raise Damaged(f"id {max(listed):,} is not in the vocabulary, which ends at {self.vocab_size - 1:,}")
        parts: list[Integers] = []
        length, at = 0, 0
        while at < len(listed):
            if listed[at] < self.escape:
                parts.append(self.strings[listed[at]])
                at += 1
            else:
                number, at = self._unescape(listed, at)
                parts.append(np.array([number], np.int64))
            length += len(parts[-1])
            if length > most:
                raise Damaged(f"the ids stand for more than {most:,} coefficients")
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _escape(self, number: int) -> Iterator[int]:
        above = number > self.maximum
        code = 2 * (number - self.maximum - 1) if above else 2 * (self.minimum - number - 1) + 1
        yield self.escape
        while code >= 8:
            yield self.escape + 1 + 8 + code % 8
            code //= 8
        yield self.escape + 1 + code

    def _unescape(self, listed: list[int], at: int) -> tuple[int, int]:
        if listed[at] != self.escape:
            raise Damaged(f"id {listed[at]:,} is a digit of an escape, but no escape has begun")
        code, shift, at = 0, 0, at + 1
        while True:
            digit = listed[at] - self.escape - 1 if at < len(listed) else -1
            if digit < 0 or shift >= 3 * MOST_DIGITS or (digit == 0 and shift):
                raise Damaged("an escape does not end correctly")
            code |= digit % 8 << shift
            shift, at = shift + 3, at + 1
            if digit < 8:
                return (self.minimum - 1 - code // 2 if code % 2 else self.maximum + 1 + code // 2), at

    @cached_property
    def strings(self) -> list[Integers]:
        """Return the numbers of each id, without the ids of the escape."""
        strings = [np.array([self.minimum + symbol], np.int64) for symbol in range(self.alphabet)]
        for left, right, result in self.rules.tolist():
            if result == len(strings):
                strings.append(np.concatenate([strings[left], strings[right]]))
        return strings

    @cached_property
    def _encoder(self) -> BpeEncoder:
        symbols = [(string - self.minimum).astype(np.uint32) for string in self.strings]
        lengths = np.array([len(string) for string in symbols], np.int64)
        base = np.concatenate(symbols)
        model = MergeModel(
            base.astype(">u4").view(np.uint8), offsets_of(lengths * SYMBOL_BYTES), base, offsets_of(lengths),
            np.ones(len(symbols), np.bool_), np.arange(len(symbols)) < self.alphabet, rules=self.rules,
        )  # fmt: skip
        return BpeEncoder(model)


def coefficients(normalised: Values, scale: float) -> Integers:
    """Return rounded coefficients, flattened by frequency and then dimension: the lowest of every dimension first.

    >>> coefficients(np.array([[0.5, -0.25]] * 4), 10).tolist()
    [10, -5, 0, 0, 0, 0, 0, 0]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused later
        return rounded(cosine_transform(normalised) * scale).ravel()


def chunk_of(numbers: Integers, frames: int, scale: float) -> Values:
    """Inverse of ``coefficients`` except for the rounding: float64 [frames, dimensions]."""
    return inverse_cosine_transform(numbers.reshape(frames, -1) / scale)


@dataclass(frozen=True)
class FastCodec(OfQuantiles):
    """A fitted codec. Coefficients outside of the fitted range are escaped: decoding restores every coefficient."""

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
        """Learn merges from chunks in units of data. Raises ``InputError`` as ``IntegerBpe.fit`` and ``rounded``."""
        numbers = [coefficients(quantiles.normalised(chunk), scale) for chunk in chunks]
        return cls(quantiles, scale, IntegerBpe.fit(numbers, vocab_size, progress=progress))

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return self.bpe.vocab_size

    @property
    def header(self) -> Mapping[str, Any]:
        """Return the kind of codec and its parameters, without the vocabulary and the quantiles."""
        return {"codec": "fast", "dimensions": self.dimensions, "minimum": self.bpe.minimum, "scale": self.scale}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings for the record."""
        return {**self.header, "maximum": self.bpe.maximum, "rules": len(self.bpe.rules), "vocab_size": self.vocab_size}

    def quantised(self, frames: Values) -> Integers:
        """Quantise frames to coefficients, in the layout of ``coefficients``."""
        check_chunk(frames, self.dimensions)
        return coefficients(self.normalised(frames), self.scale)

    def outside(self, numbers: Integers) -> int:
        """Count coefficients outside of the fitted range."""
        return int(self.bpe.outside(numbers).sum())

    def encode(self, numbers: Integers) -> Ids:
        """Encode a chunk to ids."""
        return self.bpe.encode(numbers)

    def decode(self, ids: Ids, frames: int) -> Integers:
        """Decode ids to the coefficients of a chunk."""
        numbers = self.bpe.decode(ids, frames * self.dimensions)
        if len(numbers) != frames * self.dimensions:
            raise Damaged(
                f"the ids stand for {len(numbers):,} coefficients, and a chunk of {frames} frames of "
                f"{self.dimensions} has {frames * self.dimensions:,}"
            )
        return numbers

    def restored(self, numbers: Integers, frames: int) -> Values:
        """Restore frames in units of the data."""
        return self.quantiles.restored(chunk_of(numbers, frames, self.scale))
