"""Causal language models over bytes: their entropies against a loop, and which models are refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import language_models as tiny
from pyharness.features.segmentation.byte_entropies import CausalPredictor
from pyharness.features.segmentation.text_bytes import laid_out
from pyharness.types import InputError

TEXTS = ["hello hello world, he held the wheel.", "", "x", "Ünïcödé 日本 " * 5]


@pytest.mark.parametrize(("size", "bos", "offset"), [(256, None, 0), (260, 1, 4)])
def test_entropies_are_those_of_a_loop(tmp_path: Path, size: int, bos: int | None, offset: int) -> None:
    folder = tiny.build(tmp_path / "m", tokenizer=False, vocab_size=size, bos_token_id=bos, eos_token_id=2)
    predictor = CausalPredictor.load(str(folder), None)
    assert predictor.offset == offset
    data, texts = laid_out(TEXTS)
    found = predictor.entropies(data, texts, 1)
    assert found.dtype == np.float32
    for index, text in enumerate(TEXTS):
        ids = np.frombuffer(text.encode(), np.uint8).astype(np.uint32) + offset
        bits, _ = tiny.oracle(folder, ids, bos, tiny.CONTEXT, tiny.CONTEXT // 2)
        expected = np.nan_to_num(np.array(bits) * math.log(2))
        assert np.allclose(found[texts[index] : texts[index + 1]], expected, atol=2e-5)


def test_models_whose_alphabet_is_not_bytes_are_refused(tmp_path: Path) -> None:
    folder = str(tiny.build(tmp_path / "m", tokenizer=False))
    with pytest.raises(InputError, match=r"/m' has 263 ids.*\b256\b.*offset="):
        CausalPredictor.load(folder, None)
    with pytest.raises(InputError, match=r"/m' has 263 ids.*\b256\b.*offset="):
        CausalPredictor.load(folder, 100)
    assert CausalPredictor.load(folder, 7).offset == 7
