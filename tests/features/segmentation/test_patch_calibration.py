"""Thresholds that give patches of a length: found where there is one, refused where there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from oracles.symbol_model import SymbolModel as SymbolOracle
from pyharness import corpora
from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import Read
from pyharness.features.segmentation.byte_entropies import Entropies, PatchRule, SymbolPredictor
from pyharness.features.segmentation.calibration import LEAST_SHARED, TOLERANCE, CalibrationText, calibrate
from pyharness.features.segmentation.entropy_patches import EntropyPatches
from pyharness.features.segmentation.text_bytes import Bytes, laid_out
from pyharness.kernels.symbol_models import SymbolModel
from pyharness.types import InputError, Offsets, Tally, digest_of

TEXTS = list(open_corpus("sample:prose").documents(Tally()))


@pytest.fixture(scope="module")
def predictor() -> SymbolPredictor:
    return SymbolPredictor.of(SymbolModel.train([laid_out(TEXTS[::2])], 256, 5))


def calibration(texts: list[str]) -> CalibrationText:
    digests = [(text, digest_of(text)) for text in texts]
    return CalibrationText.read(Read(text, digest, digest, opens=True) for text, digest in digests)


class Level:
    """Every byte is as hard to predict as any other."""

    digest = "level"

    def entropies(self, data: Bytes, texts: Offsets, threads: int) -> Entropies:
        return np.ones(len(data), np.float32)


@pytest.mark.parametrize("mode", ["global", "monotonic", "combined"])
@pytest.mark.parametrize("target", [4.5, 6.0, 8.0])
def test_the_mean_is_near_the_target_and_said_as_it_is(predictor: SymbolPredictor, mode: str, target: float) -> None:
    text = calibration(TEXTS[1::2]).predicted(predictor)
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
    text = calibration(TEXTS[1::2]).predicted(predictor)
    for target, rule in ((1e9, PatchRule()), (6.0, PatchRule(max_patch_length=3)), (1.01, PatchRule("combined"))):
        with pytest.raises(InputError, match=rf"threshold .*{re.escape(f'{target:g}')} bytes.* \(threshold "):
            calibrate(text, rule, target)
    with pytest.raises(InputError, match=r"threshold .*\b4\.5 bytes"):
        calibrate(calibration(TEXTS).predicted(Level()), PatchRule(), 4.5)
    with pytest.raises(InputError, match="calibration text is"):
        calibration(["", ""])


HEADER = "A licence that many documents begin with. " * 100
LONG = "word " * 20_000
DOCUMENTS = {"header.txt": f"{HEADER}This is one.", "long.txt": f"{LONG}the end", "few.txt": "A few words."}
OTHERS = {
    "header.txt": f"{HEADER}This is another.",  # 4,300 characters are the same, and the document is another
    "part.txt": "word " * 1000,
    "few.txt": "A few words.",
}


def corpus(folder: Path, texts: dict[str, str], options: str = "") -> str:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return f"path:{folder}?split=file{options}"


def seen(patches: EntropyPatches, specification: str) -> list[str]:
    """Texts that are refused."""
    refused = []
    for one in corpora.read(open_corpus(specification), Tally()):
        try:
            patches.check_unseen(one.text, (one.digest, one.key))
        except InputError:
            refused.append(one.text)
    return refused


@pytest.mark.parametrize("cut", ["", "&max_document_bytes=1000"])
def test_documents_are_known_again_however_they_are_cut(predictor: SymbolPredictor, tmp_path: Path, cut: str) -> None:
    specification = corpus(tmp_path / "calibration", DOCUMENTS, cut)
    known = CalibrationText.read(corpora.read(open_corpus(specification), Tally())).known_by
    patches = EntropyPatches(predictor, PatchRule(), calibrated_on=known)
    assert seen(patches, corpus(tmp_path / "calibration", {})) == [DOCUMENTS["header.txt"], DOCUMENTS["long.txt"]]
    pieces = corpus(tmp_path / "calibration", {}, "&max_document_bytes=500")
    texts = list(open_corpus(pieces).documents(Tally()))
    assert len(texts) > 200
    assert seen(patches, pieces) == [text for text in texts if len(text) >= LEAST_SHARED]
    assert seen(patches, corpus(tmp_path / "others", OTHERS)) == []


def test_works_are_known_again_by_their_name(predictor: SymbolPredictor, tmp_path: Path) -> None:
    lines = [f"A text of its own, and more than a few words: {number}." for number in range(3)]
    path = tmp_path / "books.jsonl"
    rows = zip(lines, ("Emma", "Emma", "Persuasion"), strict=True)
    path.write_text("\n".join(json.dumps({"text": text, "book": book}) for text, book in rows), encoding="utf-8")
    books = f"path:{path}?work=book"
    known = CalibrationText.read(corpora.read(open_corpus(f"{books}&max_bytes=60"), Tally())).known_by
    assert seen(EntropyPatches(predictor, PatchRule(), calibrated_on=known), books) == lines[:2]


def test_models_of_other_symbols_are_refused() -> None:
    ids = np.array([0, 299], np.uint32)
    with pytest.raises(InputError, match=r"\b300 symbols, .*\b256"):
        SymbolPredictor.of(SymbolModel.train([(ids, np.array([0, 2]))], 300, 2))
