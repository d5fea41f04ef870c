"""What predicts the next byte, and where patches start, from the entropy of every byte's prediction.

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

from pyharness import language_models
from pyharness.features.segmentation.text_bytes import Bytes
from pyharness.kernels.symbol_models import SymbolModel
from pyharness.language_models import CausalModel
from pyharness.types import InputError, Offsets

Entropies = NDArray[np.float32]  # [bytes], nats: of the prediction of byte i from those before it in its text
MODES = ("global", "monotonic", "combined")
THRESHOLD = 1.335442066192627  # nats: that of the authors' repository, for the model they trained
BYTES = 256
OFFSETS = {256: 0, 260: 4}  # logits -> id of byte 0: bytes alone, and those of BLT behind four marks
MOST_MARKS = 128  # ids of a model over bytes that are no bytes
LONGEST_CONTEXT = 2048
BATCH_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class PatchRule:
    """What starts a patch.

    ``global``: an entropy above the threshold. ``monotonic``: one that is larger than that of the byte before by more
    than the threshold. ``combined``: one above the threshold that is larger by more than ``threshold_add``.
    """

    mode: str = "global"
    threshold: float = THRESHOLD  # nats
    threshold_add: float = 0.0  # nats; of ``combined`` alone
    max_patch_length: int | None = None  # bytes; a longer patch is cut every so many


def patch_starts(entropies: Entropies, texts: Offsets, rule: PatchRule) -> NDArray[np.bool_]:
    """Whether a patch starts with each byte of texts that lie end to end, bool [bytes].

    As in the authors' repository: bytes 0 and 1 of a text always do; in modes other than ``global`` byte 2 does, too;
    and in ``combined`` byte 3 never does, because the mask that is to keep starts apart is read before it is filled.
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
    """Which bytes the thresholds speak for, wherever texts begin."""
    threshold, added = np.float32(rule.threshold), np.float32(rule.threshold_add)
    if rule.mode == "global":
        return np.asarray(entropies > threshold, np.bool_)
    grown = np.diff(entropies, prepend=np.float32(0))
    if rule.mode == "monotonic":
        return np.asarray(grown > threshold, np.bool_)
    return np.asarray((grown > added) & (entropies > threshold), np.bool_)


def _put(starts: NDArray[np.bool_], places: NDArray[np.int64], texts: Offsets, *, value: bool) -> None:
    """Write where a place is still in the text that it counts from."""
    ends = texts[1:][np.diff(texts) > 0]
    starts[places[places < ends]] = value


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
