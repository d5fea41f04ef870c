"""The study of the benchmark's intervals: its sub-corpora have the figures of the library."""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cutting.cutters import Cutter, every
from document_states import Documents
from pyharness.corpora import open_corpus
from pyharness.features.segmentation.benchmark import SegmentationPass


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> str:
    generator, path = random.Random(4), tmp_path_factory.mktemp("pool") / "pool.jsonl"
    words = ["the", "a", "naïve", "tokenizer", "cuts", "every", "word", "in", "its", "way"]
    with path.open("w", encoding="utf-8") as out:
        for _ in range(150):
            chosen = generator.sample(words, 5)
            text = " ".join(generator.choice(chosen) for _ in range(generator.randint(20, 120)))
            out.write(json.dumps({"text": text}) + "\n")
    return f"path:{path}?max_document_bytes=200"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = Path(__file__).parents[2] / "segments"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return importlib.import_module("intervals")


def test_the_pool_has_the_figures_of_the_benchmark(study: ModuleType, pool: str) -> None:
    documents, cutter = Documents.read(open_corpus(pool)), Cutter(every(4))
    row, whole = study.PieceFigures.of(cutter, documents), documents.whole()
    found, _ = study.measured(documents, [row, row], whole, np.arange(len(whole.pieces)))
    counted = SegmentationPass(cutter).read(open_corpus(pool)).counted()
    assert found == list(counted.findings().measurements)


def test_intervals_of_draws_hold_and_means_do_not_move(study: ModuleType, pool: str) -> None:
    documents = Documents.read(open_corpus(pool))
    pair = [study.PieceFigures.of(Cutter(every(size)), documents) for size in (3, 4)]
    whole = documents.whole()
    truth = study.measured(documents, pair, whole, np.arange(len(whole.pieces)))
    held = study.collect(truth, study.simulate(documents, pair, 70, 60))["word_consistency"].coverage()
    assert min(held) > 80
    lines = study.means(study.simulate(documents, pair, 70, 3)).splitlines()
    assert any(line.startswith("cuts_per_word: ") for line in lines)
