"""A tokenizer with special tokens, models of every kind of file, and texts that spell them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from bpe_files import FILES
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.vocabularies.patterns.split_patterns import GPT2
from tokenizer_files import rank_data

SPECIALS = {"<|a|>": 300, "<|bc|>": 301, "\U0001f600": 302}


ATOMS = ["he", "llo", " w", "é", "\U0001f600", "\ud83d", "\ude00", "中", *SPECIALS, "<|", "a|>", "\n", "  "]


TEXT = st.lists(st.sampled_from(ATOMS) | st.text(max_size=4), max_size=12).map("".join)


def ranks() -> BpeTokenizer:
    return BpeTokenizer(import_model(rank_data(), pattern="gpt2", special=SPECIALS))


def tiktoken_of(ours: BpeTokenizer) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is what this is about")
    vocabulary, special = ours.model.vocabulary, ours.model.special
    table = {vocabulary[token]: token for token in range(len(vocabulary)) if token not in special.values()}
    table = {data: token for data, token in table.items() if data}
    return tiktoken.Encoding("x", pat_str=GPT2, mergeable_ranks=table, special_tokens=dict(special))


RANKS = ranks()


def model_of_file(name: str) -> BpeModel:
    content = FILES[name] if isinstance(FILES[name], bytes) else json.dumps(FILES[name]).encode()
    return import_model(content, pattern="gpt2" if name == "ranks" else None)
