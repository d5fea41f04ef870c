"""FAST as in its authors' processor (``processing_action_tokenizer.py``), with its dropped and clamped values.

Coefficients become characters, counted from the least of the training part. A byte-level BPE of ``tokenizers`` with the
split pattern of GPT-2 encodes them. Coefficients below the least are clamped to it. Bytes that the vocabulary lacks are
dropped, as most bytes unseen in training are; half a surrogate pair, or a number beyond the last character, is a
``TypeError``. Ids that cannot be decoded give a chunk of zeros there; ``decode`` raises ``Damaged`` instead. The
authors' file has no normalisation: here it is that of the other rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyharness.features.actions.codecs.fast import chunk_of, coefficients
from pyharness.features.actions.codecs.quantiles import Integers, OfQuantiles, Quantiles, Values, check_chunk
from pyharness.features.actions.types import Damaged
from pyharness.plugins import libraries
from pyharness.types import Digest, Ids, InputError
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET

MIN_FREQUENCY = 2
MAX_TOKEN_LENGTH = 10_000
HIGHEST = 0x110000  # above the last character
SURROGATES = 0xD800  # the first one; no text has half a pair


@dataclass(frozen=True)
class ReferenceCodec(OfQuantiles):
    """A fitted codec; ``tokenizer_json`` is the file of its BPE."""

    scale: float
    minimum: int
    tokenizer_json: str
    trained_on: frozenset[Digest] = frozenset()
    notes: tuple[str, ...] = ()
    skip: int = 0
    lossless: bool = False
    zeros_for_damaged: bool = True

    @classmethod
    def fit(cls, chunks: Sequence[Values], quantiles: Quantiles, scale: float, vocab_size: int) -> ReferenceCodec:
        """Train as ``UniversalActionProcessor.fit`` does.

        Raises:
            InputError: there is no chunk, ``tokenizers`` is not installed, ``vocab_size`` is below the range of
                coefficients, or there are not as many characters.
        """
        numbers = [coefficients(quantiles.normalised(chunk), scale) for chunk in chunks]
        joined = np.concatenate([np.zeros(0, np.int64), *numbers])
        if not len(joined):
            raise InputError("there is nothing to learn from: the training part has no chunk")
        minimum, span = int(joined.min()), int(joined.max() - joined.min())
        if span > vocab_size or span >= SURROGATES:
            limit = f"vocab_size={vocab_size:,} is too small"
            if span >= SURROGATES:
                limit = f"scale={scale:g} is too large for the authors' codec, which can span {SURROGATES - 1:,}"
            raise InputError(f"{limit}: the coefficients of the training part span {span:,} numbers")
        _library()
        from tokenizers import ByteLevelBPETokenizer
        from tokenizers.trainers import BpeTrainer

        bpe = ByteLevelBPETokenizer()
        trainer = BpeTrainer(
            vocab_size=vocab_size, min_frequency=MIN_FREQUENCY, show_progress=False, special_tokens=[],
            initial_alphabet=[chr(number) for number in range(span + 1)], max_token_length=MAX_TOKEN_LENGTH,
        )  # fmt: skip
        bpe._tokenizer.train_from_iterator((_text(one, minimum) for one in numbers), trainer=trainer)
        return cls(quantiles, scale, minimum, bpe.to_str())

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return int(self._tokenizer.get_vocab_size())

    @property
    def header(self) -> Mapping[str, Any]:
        """Return the parameters that decoding needs, without the vocabulary."""
        return {"codec": "fast-reference", "dimensions": self.dimensions, "minimum": self.minimum, "scale": self.scale}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings for the record."""
        return {**self.header, "vocab_size": self.vocab_size}

    def quantised(self, frames: Values) -> Integers:
        """Quantise frames to coefficients, before clamping."""
        check_chunk(frames, self.dimensions)
        return coefficients(self.normalised(frames), self.scale)

    def outside(self, numbers: Integers) -> int:
        """Count coefficients that are clamped or dropped."""
        return sum(not self._has_id(number) for number in (numbers - self.minimum).tolist())

    def encode(self, numbers: Integers) -> Ids:
        """Encode a chunk to ids; raise ``TypeError`` where a number gives half a surrogate pair or no character."""
        return np.array(self._tokenizer.encode(_text(numbers, self.minimum)).ids, np.uint32)

    def decode(self, ids: Ids, frames: int) -> Integers:
        """Decode ids to coefficients, without unknown ids; raise ``Damaged`` where the reference returns zeros."""
        text = self._tokenizer.decode(ids.tolist(), skip_special_tokens=False)
        if len(text) != frames * self.dimensions:
            raise Damaged(f"the ids stand for {len(text):,} of {frames * self.dimensions:,} coefficients")
        return np.array([ord(character) + self.minimum for character in text], np.int64)

    def restored(self, numbers: Integers, frames: int) -> Values:
        """Restore frames in units of the data."""
        return self.quantiles.restored(chunk_of(numbers, frames, self.scale))

    @cached_property
    def _tokenizer(self) -> Any:
        _library()
        from tokenizers import Tokenizer

        try:
            return Tokenizer.from_str(self.tokenizer_json)
        except BaseException as error:  # including a panic of Rust
            raise InputError(f"the BPE of the codec was refused by tokenizers: {str(error)[:200]}") from None

    def _has_id(self, number: int) -> bool:
        """Whether the vocabulary has all bytes of the number's character."""
        parts = chr(number).encode("utf-8", "surrogatepass") if 0 <= number < HIGHEST else None
        return parts is not None and all(BYTE_ALPHABET[byte] in self._symbols for byte in parts)

    @cached_property
    def _symbols(self) -> frozenset[str]:
        return frozenset(json.loads(self.tokenizer_json)["model"]["vocab"])


def _text(numbers: Integers, minimum: int) -> str:
    """Map each number to a character; raise ``TypeError`` for a number beyond the last character."""
    try:
        return "".join(map(chr, np.maximum(numbers - minimum, 0).tolist()))
    except (ValueError, OverflowError):
        raise TypeError(f"{int(np.max(numbers)):,} less {minimum:,} is not a character") from None


def _library() -> None:
    libraries.require("actions:fast?reference=true", "tokenizers", "huggingface")
