"""Trainers on published files, where the data are: ``PYHARNESS_DATA`` names their folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cases.trained_rows import asked
from pyharness.bpe import BpeTokenizer, import_model
from pyharness.corpora.texts import Text
from pyharness.features.training import trainers

DATA = Path(os.environ.get("PYHARNESS_DATA", "/nowhere"))
CORPUS = DATA / "corpora" / "multilingual" / "et" / "riigiteataja_laws.jsonl.xz"
pytestmark = pytest.mark.skipif(not CORPUS.is_file(), reason="PYHARNESS_DATA has no Estonian text")


def test_gpt2_learns_estonian_and_keeps_its_english() -> None:
    base = DATA / "tokenizers" / "gpt2" / "tokenizer.json"
    text = Text.of([f"shard:1/5:path:{CORPUS}"], 2_000_000)
    continued, naive = (
        trainers.train(name, asked(name, texts=text.documents, base=str(base), tokens=1000, threads=2))
        for name in ("continued-bpe", "naive-extension")
    )
    assert continued.vocab_size == naive.vocab_size == 51257
    assert json.loads(continued.files["adaptation.json"])["unreachable"]["added"] == {"layer_1": 0, "layer_2": 0}
    held_out = list(Text.of([f"shard:0/5:path:{CORPUS}"], 300_000).documents())
    assert continued.model is not None
    assert naive.model is not None
    models = (import_model(base), naive.model, continued.model)
    old, by_naive, new = (len(BpeTokenizer(model).encode_batch(held_out).ids) for model in models)
    assert new < by_naive < old
    english = ["The quick brown fox jumps over the lazy dog."]
    before, after = (BpeTokenizer(model).encode_batch(english).ids.tolist() for model in (models[0], models[2]))
    assert before == after
