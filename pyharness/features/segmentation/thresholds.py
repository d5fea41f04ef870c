"""Thresholds of patches by entropy: found once, and kept in the cache under all that decides them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pyharness.features.segmentation.entropy.calibrating import Calibrated, CalibrationText, calibrate
from pyharness.features.segmentation.entropy.patching import PatchRule
from pyharness.features.segmentation.entropy.predicting import BytePredictor
from pyharness.system.environment import version_of
from pyharness.tokenizers.training import cache
from pyharness.tokenizers.training.recipe import code_digest
from pyharness.trainers import Array
from pyharness.types import InputError


def found(predictor: BytePredictor, rule: PatchRule, target: float, text: CalibrationText) -> Calibrated:
    """Return the rule with the threshold that gives patches of ``target`` bytes on a text, from the cache where it is.

    Raises:
        InputError: there is none; this is kept, too.
    """
    with cache.locked(_recipe(predictor, rule, target, text)) as place:
        kept = place.find()
        if kept is not None and kept.refused is not None:
            raise InputError(kept.refused)
        arrays = place.learnt(text.digest, None)
        if arrays is not None:
            return _of_arrays(arrays, rule)
        try:
            calibrated = calibrate(text.predicted(predictor), rule, target)
        except InputError as error:
            place.refuse(text.digest, str(error))
            raise
        place.keep_learnt(text.digest, _arrays(calibrated), None)
        return calibrated


def _recipe(predictor: BytePredictor, rule: PatchRule, target: float, text: CalibrationText) -> dict[str, Any]:
    return {
        "trainer": "threshold",
        "model": predictor.digest,
        "rule": dataclasses.asdict(rule),
        "target": target,
        "text": text.digest,
        "versions": {"pyharness": version_of("pyharness")},
        "code": code_digest(calibrate.__module__),
    }


def _arrays(found: Calibrated) -> dict[str, Array]:
    figures = np.array([found.rule.threshold, found.mean, found.deviation])
    return {"figures": figures, "sizes": np.array([found.largest, found.bytes], np.int64)}


def _of_arrays(arrays: Any, rule: PatchRule) -> Calibrated:
    threshold, mean, deviation = arrays["figures"].tolist()
    largest, size = arrays["sizes"].tolist()
    return Calibrated(dataclasses.replace(rule, threshold=threshold), mean, deviation, largest, size)
