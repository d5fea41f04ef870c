"""The round-trip class is derived from the file; models that are not byte-level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.types import HasMergeModel, HasModelEncoder, HasVocabulary, TokenKind
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from tokenizer_files import byte_level, check_merge_model, sentencepiece_data, write


def with_stage(**stages: Any) -> dict[str, Any]:
    return byte_level() | stages


BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s"}, "behavior": "Removed", "invert": False}


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ({}, "exact"),
        ({"normalizer": {"type": "Sequence", "normalizers": []}}, "exact"),
        ({"normalizer": {"type": "NFC"}}, "normalised"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}}, "lossy"),
        ({"normalizer": BERT}, "lossy"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}}, "normalised"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, byte_level()["pre_tokenizer"]]}}, "lossy"),
        ({"pre_tokenizer": None}, "lossy"),
        ({"decoder": None}, "lossy"),
    ],
)
def test_round_trip_is_derived_from_the_file(stages: dict[str, Any], expected: str, tmp_path: Path) -> None:
    assert tokenizers.load(write(tmp_path, "tokenizer.json", with_stage(**stages))).round_trip == expected


def test_word_piece(tmp_path: Path) -> None:
    vocab = {"[UNK]": 0, "un": 1, "##happy": 2, "##h": 3, "happy": 4}
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocab,
    }
    content = with_stage(model=model, added_tokens=[], pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=None)
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", content))
    assert tokenizer.round_trip == "lossy"
    assert tokenizer.vocab_size == 4
    assert isinstance(tokenizer, HasModelEncoder)
    assert isinstance(tokenizer, HasVocabulary)
    assert tokenizer.encode_model(np.arange(1, 5, dtype=np.uint32)).ids.tolist() == [1, 2, 3, 4]
    assert tokenizer.vocabulary()[2] == b"happy"
    assert tokenizer.vocabulary().kinds[0] == TokenKind.UNKNOWN


def test_suffix_is_carried_by_the_last_symbol(tmp_path: Path) -> None:
    vocab = {character: byte for byte, character in BYTE_ALPHABET.items()}
    vocab |= {f"{character}</w>": 256 + byte for byte, character in BYTE_ALPHABET.items()}
    vocab |= {"it</w>": 512, "it": 513}
    model = {"type": "BPE", "vocab": vocab, "merges": ["i t</w>", "i t"], "end_of_word_suffix": "</w>"}
    tokenizer = tokenizers.load(
        write(tmp_path, "tokenizer.json", with_stage(model=model, added_tokens=[], post_processor=None))
    )
    assert isinstance(tokenizer, HasMergeModel)
    found = tokenizer.merge_model()
    assert found.base[found.base_offsets[512] :].tolist() == [ord("i"), 256 + ord("t"), ord("i"), ord("t")]
    assert found.rules is not None
    assert found.rules.tolist() == [[ord("i"), 256 + ord("t"), 512], [ord("i"), ord("t"), 513]]
    check_merge_model(found, 514)


def test_sentencepiece_model(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "x.model", sentencepiece_data(2, byte_fallback=True)))
    assert tokenizer.round_trip == "normalised"
    assert isinstance(tokenizer, HasMergeModel)
    assert isinstance(tokenizer, HasVocabulary)
    kinds = tokenizer.vocabulary().kinds
    assert [int((kinds == kind).sum()) for kind in (TokenKind.BYTE_FALLBACK, TokenKind.ADDED, TokenKind.SPECIAL)] == [
        256,
        1,
        2,
    ]
    model = tokenizer.merge_model()
    assert model.ranks is not None
    order = [260 + index for index in np.argsort(model.ranks[260:264])]
    assert order == [260, 261, 262, 263]  # he, ll, hell, ▁w: by falling score
    unigram = tokenizers.load(write(tmp_path, "u.model", sentencepiece_data(1, byte_fallback=False)))
    assert unigram.round_trip == "lossy"
    assert isinstance(unigram, HasModelEncoder)
    assert unigram.encode_model(np.array([4, 5, 7], np.uint32)).ids.tolist() == [4, 5, 7]
