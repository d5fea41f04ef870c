"""Real tokenizers, pruned by tenths: nothing becomes unreachable, and texts without removed tokens keep their ids."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from adapted.pruned_models import mapped_parts, pruned_model
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import self_tokenization
from pyharness.features.adaptation.bpe.edited_file import prune
from pyharness.features.adaptation.bpe.model_pieces import TokenCounter
from pyharness.features.adaptation.bpe.pruning import first_of, frequency_order, id_map, leaf_order, parts
from pyharness.features.adaptation.id_maps import IdMap

DATA = Path(os.environ.get("PYHARNESS_DATA", ""))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("PYHARNESS_DATA" not in os.environ, reason="PYHARNESS_DATA is not set"),
]
FILES = {
    "gpt2": "gpt2/tokenizer.json",
    "qwen2_5": "qwen2_5/tokenizer.json",
    "deepseek_v3": "deepseek_v3/tokenizer.json",
    "cl100k_base": "tiktoken/cl100k_base.tiktoken",
    "mistral_v1": "mistral/tokenizer.model.v1",
    "mistral_v3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
}


def texts(corpus: str, count: int) -> list[str]:
    with lzma.open(DATA / "corpora" / f"{corpus}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line, _ in zip(lines, range(count), strict=False)]


def failed(model: BpeModel) -> int:
    return len(self_tokenization(model.merges, 2).failed)


def lines_with_their_ids(old: BpeTokenizer, pruned: BpeModel, ids: IdMap, lines: list[str]) -> int:
    """How many lines use no token that is removed: all of them have the ids that they had."""
    before, after = old.encode_batch(lines), BpeTokenizer(pruned).encode_batch(lines)
    kept = 0
    for index in range(len(lines)):
        new = ids.new[before.document(index)]
        if (new >= 0).all():
            kept += 1
            assert new.tolist() == after.document(index).tolist()
    return kept


@pytest.mark.parametrize("name", FILES)
def test_by_tenths(name: str) -> None:
    model = import_model((DATA / "tokenizers" / FILES[name]).read_bytes())
    tokenizer, counter = BpeTokenizer(model), TokenCounter(model)
    documents = texts("english/books", 40) + texts("multilingual/et/ud_ewt", 36) + texts("code/rust", 20)
    counter.add(documents, 2)
    lines = [line for document in documents for line in document.splitlines()][:6000]
    leaves, naive = leaf_order(model, counter.counts, 2), frequency_order(model, counter.counts)
    of, broken = parts(model, 2), []
    assert failed(model) == 0
    for tenth in range(1, 10):
        removed = leaves[: len(leaves) * tenth // 10]
        ids = id_map(model, removed)
        pruned = pruned_model(model, ids)
        assert failed(pruned) == 0
        assert np.array_equal(parts(pruned, 2), mapped_parts(of, ids))
        kept = lines_with_their_ids(tokenizer, pruned, ids, lines)
        assert tenth > 1 or kept > len(lines) // 2
        broken.append(failed(pruned_model(model, id_map(model, naive[: len(removed)]))))
    assert min(broken) > 0
    assert max(broken) > len(leaves) // 100


@pytest.mark.parametrize("name", FILES)
def test_half_of_a_file(name: str) -> None:
    data = (DATA / "tokenizers" / FILES[name]).read_bytes()
    model = import_model(data)
    lines = [line for document in texts("english/books", 4) for line in document.splitlines()][:500]
    counter = TokenCounter(model)
    counter.add(lines, 2)
    removed = first_of(model, leaf_order(model, counter.counts, 2), share=0.5)
    pruned = prune(data, model, removed, name, lines)  # its library gives the ids that we do
    assert failed(pruned.model) == 0
    assert pruned.model.vocab_size == model.vocab_size - len(removed)
    assert lines_with_their_ids(BpeTokenizer(model), pruned.model, pruned.ids, lines) == len(lines)
