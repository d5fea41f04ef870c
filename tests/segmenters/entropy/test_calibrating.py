"""Thresholds that give patches of a length: found where there is one, refused where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.symbol_model import SymbolModel as SymbolOracle
from pyharness.corpora import open_corpus
from pyharness.segmenters.entropy.calibrating import TOLERANCE, CalibrationText, calibrate
from pyharness.segmenters.entropy.patches import EntropyPatches
from pyharness.segmenters.entropy.patching import Entropies, PatchRule
from pyharness.segmenters.entropy.predicting import SymbolPredictor
from pyharness.segmenters.text_bytes import Bytes, laid_out
from pyharness.symbol_models import SymbolModel
from pyharness.types import InputError, Offsets, Tally

TEXTS = list(open_corpus("sample:prose").documents(Tally()))
SHARED = "One line of text that is more than a few words."


@pytest.fixture(scope="module")
def predictor() -> SymbolPredictor:
    return SymbolPredictor.of(SymbolModel.train([laid_out(TEXTS[::2])], 256, 5))


class Level:
    """Every byte is as hard to predict as any other."""

    digest = "level"

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        return np.ones(len(data), np.float32)


@pytest.mark.parametrize("mode", ["global", "monotonic", "combined"])
@pytest.mark.parametrize("target", [4.5, 6.0, 8.0])
def test_the_mean_is_near_the_target_and_said_as_it_is(predictor: SymbolPredictor, mode: str, target: float) -> None:
    text = CalibrationText.read(TEXTS[1::2], predictor)
    found = calibrate(text, PatchRule(mode, threshold_add=0.1), target)
    assert abs(found.mean / target - 1) < TOLERANCE
    segments = EntropyPatches(predictor, found.rule).segment_batch(TEXTS[1::2])
    lengths = np.concatenate([np.diff(segments.document(one), prepend=0) for one in range(len(segments))])
    assert (found.mean, found.deviation, found.largest) == (lengths.mean(), lengths.std(), lengths.max())


def test_entropies_are_of_the_bytes_before_in_each_text(predictor: SymbolPredictor) -> None:
    texts = ["abracadabra", "", "bé"]
    model = SymbolPredictor.of(SymbolModel.train([laid_out(texts)], 256, 3))
    oracle = SymbolOracle([text.encode() for text in texts], 256, 3)
    expected = [entropy for text in texts for entropy in oracle.score(text.encode())[0]]
    found = model.entropies(*laid_out(texts), 1)
    assert found.dtype == np.float32
    assert np.allclose(found, expected[: len(found)], atol=1e-6)


def test_targets_that_no_threshold_reaches_are_refused(predictor: SymbolPredictor) -> None:
    text = CalibrationText.read(TEXTS[1::2], predictor)
    for target, rule in ((1e9, PatchRule()), (6.0, PatchRule(max_patch_length=3)), (1.01, PatchRule("combined"))):
        with pytest.raises(InputError, match=r"no threshold gives patches of .* at best .* \(threshold "):
            calibrate(text, rule, target)
    with pytest.raises(InputError, match=r"no threshold gives patches of 4\.5 bytes"):
        calibrate(CalibrationText.read(TEXTS, Level()), PatchRule(), 4.5)
    with pytest.raises(InputError, match="the calibration text is empty"):
        CalibrationText.read(["", ""], predictor)


def test_what_was_calibrated_on_is_not_measured(predictor: SymbolPredictor) -> None:
    long = "word " * 1000
    known = CalibrationText.read([SHARED, long, "short"], predictor).digests
    patches = EntropyPatches(predictor, PatchRule(), calibrated_on=known)
    patches.segment_batch(["short", SHARED[1:], "word " * 100])
    for text in (SHARED, long, long[:3000]):
        with pytest.raises(InputError, match=r"calibrated on a document that is measured \('.*'\.\.\.\); give other"):
            patches.segment_batch(["other", text])


def test_models_of_other_symbols_are_refused() -> None:
    ids = np.array([0, 299], np.uint32)
    with pytest.raises(InputError, match="a symbol model of 300 symbols is none of bytes, which are 256"):
        SymbolPredictor.of(SymbolModel.train([(ids, np.array([0, 2]))], 300, 2))
