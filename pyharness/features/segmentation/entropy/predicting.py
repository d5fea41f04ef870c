"""What predicts the next byte: a symbol model, or a causal language model over bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from pyharness import language_models
from pyharness.features.segmentation.entropy.patching import Entropies
from pyharness.features.segmentation.segmenters.text_bytes import Bytes
from pyharness.language_models import CausalModel
from pyharness.symbol_models import SymbolModel
from pyharness.types import InputError, Offsets

BYTES = 256
OFFSETS = {256: 0, 260: 4}  # logits -> id of byte 0: bytes alone, and those of BLT behind four marks
MOST_MARKS = 128  # ids of a model over bytes that are no bytes
LONGEST_CONTEXT = 2048
BATCH_TOKENS = 8192


class BytePredictor(Protocol):
    """Entropy of the prediction of every byte from those before it in its text."""

    digest: str

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """float32 [bytes], nats."""
        ...


@dataclass(slots=True)
class SymbolPredictor:
    """An n-gram of bytes."""

    model: SymbolModel
    digest: str

    @classmethod
    def of(cls, model: SymbolModel) -> SymbolPredictor:
        """Take a model over bytes; any other is an ``InputError``."""
        if model.alphabet_size != BYTES:
            raise InputError(f"a symbol model of {model.alphabet_size:,} symbols is none of bytes, which are {BYTES}")
        return cls(model, model.digest)

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """float32 [bytes], nats."""
        return self.model.score(data, texts, threads).entropy.astype(np.float32)


@dataclass(slots=True)
class CausalPredictor:
    """A causal language model whose ids are bytes, behind some marks. A byte before which there is nothing has 0."""

    model: CausalModel
    offset: int  # id of byte 0
    digest: str

    @classmethod
    def load(cls, name: str, offset: int | None) -> CausalPredictor:
        """Load a folder; a model whose alphabet is not bytes is an ``InputError``."""
        model = language_models.load(name, "cpu", "float32")
        first = OFFSETS.get(model.columns, 0) if offset is None else offset
        known = model.columns in OFFSETS or offset is not None
        if not known or not first + BYTES <= model.columns <= first + BYTES + MOST_MARKS:
            raise InputError(
                f"language model {name!r} has {model.columns:,} ids: it is no model of bytes, which has {BYTES}, and "
                f"at most {MOST_MARKS} marks behind them; if it is one, say with offset= which id is that of byte 0"
            )
        return cls(model, first, model.folder.digest())

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """float32 [bytes], nats."""
        found = np.zeros(len(data), np.float32)
        bos = [] if self.model.bos is None else [self.model.bos]
        ids = data.astype(np.int64) + self.offset
        sequences = [np.append(np.array(bos, np.int64), ids[a:b]) for a, b in pairwise(texts)]
        context = min(self.model.longest or LONGEST_CONTEXT, LONGEST_CONTEXT)
        windows = language_models.sliding_windows(map(len, sequences), context, max(context // 2, 1))
        for batch in language_models.batches(windows, BATCH_TOKENS):
            layout = language_models.Layout.of(sequences, batch)
            bits, _ = self.model.score(layout, self.model.columns, threads)
            self._place(found, texts, batch, bits)
        return found

    def _place(
        self, found: Entropies, texts: Offsets, batch: Sequence[language_models.Window], bits: Entropies
    ) -> None:
        begun, marks = 0, int(self.model.bos is not None)
        for window in batch:
            scored = window.stop - window.first + 1
            place = int(texts[window.sequence]) + window.first - marks
            found[place : place + scored] = bits[begun : begun + scored] * np.float32(math.log(2))
            begun += scored
