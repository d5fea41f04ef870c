"""Patches of text by the entropy of its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.segmenters.entropy.calibrating import beginnings
from pyharness.segmenters.entropy.patching import PatchRule, patch_starts
from pyharness.segmenters.entropy.predicting import BytePredictor
from pyharness.segmenters.text_bytes import laid_out, segments_of_starts
from pyharness.types import Digest, InputError, Segments


@dataclass(slots=True)
class EntropyPatches:
    """Cuts text where its next byte is hard to predict."""

    predictor: BytePredictor
    rule: PatchRule
    settings: Mapping[str, Any] = field(default_factory=dict)  # for the record
    calibrated_on: frozenset[Digest] = frozenset()  # documents that are not measured
    notes: tuple[str, ...] = ()
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents.

        Raises:
            InputError: the threshold was found on one of them.
        """
        if self.calibrated_on:
            shared = next((text for text in texts if not self.calibrated_on.isdisjoint(beginnings([text]))), None)
            if shared is not None:
                raise InputError(
                    f"the threshold was calibrated on a document that is measured ({shared[:40]!r}...); give other "
                    "text with calibration=, such as another shard: of the corpus"
                )
        data, offsets = laid_out(texts)
        entropies = self.predictor.entropies(data, offsets, threads)
        return segments_of_starts(patch_starts(entropies, offsets, self.rule), offsets)
