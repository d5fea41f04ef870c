"""Finds the threshold for a target length of patches, on text that is not measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyharness.corpora.streaming import BATCH_SIZE, Read, batches
from pyharness.features.segmentation.byte_entropies import BytePredictor, Entropies, PatchRule, patch_starts
from pyharness.features.segmentation.text_bytes import laid_out
from pyharness.types import Digest, InputError, Offsets, Tally, offsets_of

MOST_BYTES = 8 << 20  # of calibration text
TOLERANCE = 0.02  # relative distance of the mean from the target
LEAST_SHARED = 32  # characters; shorter texts may match by chance


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A rule, and its patches on the calibration text."""

    rule: PatchRule
    mean: float  # bytes per patch
    deviation: float  # standard deviation of the bytes per patch
    largest: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CalibrationText:
    """Documents for the calibration of a threshold."""

    documents: Sequence[str]
    digest: str  # of all of them, 32 hexadecimal digits
    known_by: frozenset[Digest]  # digests of its texts, and of their documents or works; no short texts

    @classmethod
    def read(cls, texts: Iterable[Read]) -> CalibrationText:
        """Take whole documents or pieces up to the one that reaches ``MOST_BYTES``; ``InputError`` without text."""
        documents, known_by, tally = list[str](), set[Digest](), Tally()
        for one in texts:
            documents.append(one.text)
            tally.add(one.text)
            if len(one.text) >= LEAST_SHARED:
                known_by |= {one.digest, one.key}
            if tally.bytes >= MOST_BYTES:
                break
        if not tally.bytes:
            raise InputError("the calibration text is empty: name a corpus with text")
        return cls(documents, f"{tally.digest:032x}", frozenset(known_by))

    def predicted(self, predictor: BytePredictor, threads: int = 1) -> PredictedText:
        """Compute the entropy of every byte."""
        entropies, sizes = list[Entropies](), list[int]()
        for batch in batches(self.documents, size=BATCH_SIZE):
            data, texts = laid_out(batch)
            entropies.append(predictor.entropies(data, texts, threads))
            sizes += np.diff(texts).tolist()
        return PredictedText(np.concatenate(entropies), offsets_of(sizes))


@dataclass(frozen=True, slots=True)
class PredictedText:
    """Entropies of a text."""

    entropies: Entropies
    texts: Offsets

    def mean(self, rule: PatchRule) -> float:
        """Return the mean bytes per patch."""
        return len(self.entropies) / int(patch_starts(self.entropies, self.texts, rule).sum())

    def calibrated(self, rule: PatchRule) -> Calibrated:
        """Apply a rule, and return it with its figures."""
        starts = np.flatnonzero(patch_starts(self.entropies, self.texts, rule))
        lengths = np.diff(np.append(starts, len(self.entropies)))
        mean, deviation = float(lengths.mean()), float(lengths.std())
        return Calibrated(rule, mean, deviation, int(lengths.max()), len(self.entropies))


def calibrate(text: PredictedText, rule: PatchRule, target: float) -> Calibrated:
    """Return the rule with the threshold whose mean patch is nearest to ``target`` bytes.

    A higher threshold never gives more patches, so a bisection over the values where their number changes finds it.

    Raises:
        InputError: the nearest mean is not within 2 % of the target.
    """
    compared = text.entropies if rule.mode != "monotonic" else np.diff(text.entropies, prepend=np.float32(0))
    values = np.unique(compared)
    values = np.append(np.nextafter(values[0], np.float32(-np.inf)), values)
    low, high = 0, len(values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if text.mean(_at(rule, values, middle)) < target else (low, middle)
    choices = [text.calibrated(_at(rule, values, place)) for place in (low, high)]
    best = min(choices, key=lambda one: abs(one.mean - target))
    if abs(best.mean - target) > TOLERANCE * target:
        nearest = " or ".join(f"{one.mean:.4g} (threshold {one.rule.threshold:.4g})" for one in choices)
        raise InputError(
            f"no threshold gives patches of {target:g} bytes on the calibration text: at best {nearest}; "
            "where both are near, a model of a higher order, or of more text, has more distinct entropies"
        )
    return best


def _at(rule: PatchRule, values: Entropies, place: int) -> PatchRule:
    """Put the threshold halfway to the next value, so that no value equals it, if a float32 is between them."""
    value, following = values[place], values[min(place + 1, len(values) - 1)]
    between = np.float32((float(value) + float(following)) / 2)
    return replace(rule, threshold=float(between if between < following else value))
