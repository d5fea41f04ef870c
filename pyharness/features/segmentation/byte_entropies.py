"""Predictors of the next byte, and patch starts from the entropy of every byte's prediction.

The predictor is a symbol model, or a causal language model over bytes. Patches start as in BLT (arXiv 2412.09871,
section 2.3), in float32.

>>> entropies = np.array([5, 1, 0.5, 2, 1, 3], np.float32)
>>> patch_starts(entropies, np.array([0, 6]), PatchRule(threshold=1.5)).tolist()
[True, True, False, True, False, True]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyharness.features.language_models import windows
from pyharness.features.language_models.causal import CausalModel
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.segmentation.text_bytes import Bytes
from pyharness.types import InputError, Offsets

Entropies = NDArray[np.float32]  # [bytes], nats: of the prediction of byte i from the bytes before it in its text
MODES = ("global", "monotonic", "combined")
THRESHOLD = 1.335442066192627  # nats: from the authors' repository, for their model
BYTES = 256
OFFSETS = {256: 0, 260: 4}  # number of logits -> id of byte 0: only bytes; and BLT's, after four marks
MOST_MARKS = 128  # ids after those of the bytes, in a model over bytes
LONGEST_CONTEXT = 2048
BATCH_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class PatchRule:
    """Rule that starts a patch.

    ``global``: an entropy above the threshold. ``monotonic``: an increase from the byte before above the threshold.
    ``combined``: an entropy above the threshold, with an increase above ``threshold_add``.
    """

    mode: str = "global"
    threshold: float = THRESHOLD  # nats
    threshold_add: float = 0.0  # nats; only for ``combined``
    max_patch_length: int | None = None  # bytes; a longer patch is cut every so many


def patch_starts(entropies: Entropies, texts: Offsets, rule: PatchRule) -> NDArray[np.bool_]:
    """Return whether a patch starts with each byte of concatenated texts, bool [bytes].

    As in the authors' repository, bytes 0 and 1 of a text always start one; outside of ``global``, so does byte 2. In
    ``combined`` no entropy starts one at byte 3: their code reads the mask of starts there before it fills it.
    """
    starts = marks(entropies, rule)
    first = texts[:-1][np.diff(texts) > 0]
    size = len(entropies)
    for place in (0, 1) if rule.mode == "global" else (0, 1, 2):
        _put(starts, first + place, texts, value=True)
    if rule.mode == "combined":
        _put(starts, first + 3, texts, value=False)
    if rule.max_patch_length is not None and size:
        places = np.arange(size)
        since = places - np.maximum.accumulate(np.where(starts, places, 0))
        starts |= since % rule.max_patch_length == 0
    return starts


def marks(entropies: Entropies, rule: PatchRule) -> NDArray[np.bool_]:
    """Return whether each byte passes the thresholds, bool [bytes], regardless of the beginnings of texts."""
    threshold, added = np.float32(rule.threshold), np.float32(rule.threshold_add)
    if rule.mode == "global":
        return np.asarray(entropies > threshold, np.bool_)
    grown = np.diff(entropies, prepend=np.float32(0))
    if rule.mode == "monotonic":
        return np.asarray(grown > threshold, np.bool_)
    return np.asarray((grown > added) & (entropies > threshold), np.bool_)


def _put(starts: NDArray[np.bool_], places: NDArray[np.int64], texts: Offsets, *, value: bool) -> None:
    """Write ``value`` at each place that is still inside its own text."""
    ends = texts[1:][np.diff(texts) > 0]
    starts[places[places < ends]] = value


class BytePredictor(Protocol):
    """Predictor of every byte from the bytes before it in its text."""

    digest: str

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """Return the entropies, float32 [bytes], in nats."""


@dataclass(slots=True)
class SymbolPredictor:
    """An n-gram of bytes."""

    model: SymbolModel
    digest: str

    @classmethod
    def of(cls, model: SymbolModel) -> SymbolPredictor:
        """Wrap a model over bytes; raise ``InputError`` for any other."""
        if model.alphabet_size != BYTES:
            raise InputError(f"a symbol model of {model.alphabet_size:,} symbols, not {BYTES}: train it with raw_bytes")
        return cls(model, model.digest)

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """Return the entropies, float32 [bytes], in nats."""
        return self.model.score(data, texts, threads).entropy.astype(np.float32)


@dataclass(slots=True)
class CausalPredictor:
    """A causal language model with ids of the 256 bytes in a row. A byte without context has entropy 0."""

    model: CausalModel
    offset: int  # id of byte 0
    digest: str

    @classmethod
    def load(cls, name: str, offset: int | None) -> CausalPredictor:
        """Load a folder; raise ``InputError`` for a model not over bytes."""
        from pyharness.features.language_models import loader  # listing rows loads no model

        model = loader.load(name, "cpu", "float32")
        first = OFFSETS.get(model.columns, 0) if offset is None else offset
        has_offset = model.columns in OFFSETS or offset is not None
        if not has_offset or not first + BYTES <= model.columns <= first + BYTES + MOST_MARKS:
            raise InputError(
                f"language model {name!r} has {model.columns:,} ids: a model of bytes has {BYTES}, and at most "
                f"{MOST_MARKS} marks after them; if it is one, give the id of byte 0 with offset="
            )
        return cls(model, first, model.folder.digest())

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        """Return the entropies, float32 [bytes], in nats."""
        entropy = np.zeros(len(data), np.float32)
        bos = [] if self.model.bos is None else [self.model.bos]
        ids = data.astype(np.int64) + self.offset
        sequences = [np.append(np.array(bos, np.int64), ids[a:b]) for a, b in pairwise(texts)]
        context = min(self.model.longest or LONGEST_CONTEXT, LONGEST_CONTEXT)
        sliding = windows.sliding_windows(map(len, sequences), context, max(context // 2, 1))
        for batch in windows.batches(sliding, BATCH_TOKENS):
            layout = windows.Layout.of(sequences, batch)
            bits, _ = self.model.score(layout, self.model.columns, threads)
            self._place(entropy, texts, batch, bits)
        return entropy

    def _place(self, found: Entropies, texts: Offsets, batch: Sequence[windows.Window], bits: Entropies) -> None:
        begun, marks = 0, int(self.model.bos is not None)
        for window in batch:
            scored = window.stop - window.first + 1
            place = int(texts[window.sequence]) + window.first - marks
            found[place : place + scored] = bits[begun : begun + scored] * np.float32(math.log(2))
            begun += scored
