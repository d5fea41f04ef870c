"""Patches of text by the entropy of its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.features.segmentation.entropy.calibrating import LEAST_SHARED
from pyharness.features.segmentation.entropy.patching import PatchRule, patch_starts
from pyharness.features.segmentation.entropy.predicting import BytePredictor
from pyharness.features.segmentation.segmenters.text_bytes import laid_out, segments_of_starts
from pyharness.types import Digest, InputError, Segments


@dataclass(slots=True)
class EntropyPatches:
    """Cuts text where its next byte is hard to predict."""

    predictor: BytePredictor
    rule: PatchRule
    settings: Mapping[str, Any] = field(default_factory=dict)  # for the record
    calibrated_on: frozenset[Digest] = frozenset()  # texts, documents and works that are not measured
    notes: tuple[str, ...] = ()
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents."""
        data, offsets = laid_out(texts)
        entropies = self.predictor.entropies(data, offsets, threads)
        return segments_of_starts(patch_starts(entropies, offsets, self.rule), offsets)

    def check_unseen(self, text: str, digests: Iterable[Digest]) -> None:
        """Raise ``InputError`` for a text that the threshold was found on; not for one of a few words."""
        if len(text) >= LEAST_SHARED and not self.calibrated_on.isdisjoint(digests):
            raise InputError(
                f"the threshold was calibrated on a document that is measured ({text[:40]!r}...); give other text with "
                "calibration=, such as another shard: of the corpus"
            )
