"""Files are pruned in leaf order, and filled again to the same size with what another text needs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bpe_files import FILES
from bpe_models import sample, trained_model
from pyharness.bpe import BpeModel, BpeTokenizer, export_model, import_model, self_tokenization
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.edited_file import Put, prune, put
from pyharness.features.adaptation.bpe.extension import extend
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, TokenCounter
from pyharness.features.adaptation.bpe.pruning import first_of, leaf_last_n, leaf_order, removable
from pyharness.types import Ids, InputError, TokenKind

KINDS = ("byte level", "ranks", "tekken", "sentencepiece, byte fallback", "sentencepiece, unused pieces",
         "characters, byte fallback", "letters")  # fmt: skip
TEXTS = ["hello hell he world", "the cat, <|end|> 12345 é 中文", "", "  x = [i]\n"]
OTHER = ["zebra zeal zest ", "zone zoom zebu zebra "] * 20


def file_of(name: str) -> bytes:
    content = FILES[name]
    return content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()


def model_of(name: str) -> BpeModel:
    return import_model(file_of(name), pattern="gpt2" if name == "ranks" else None)


def strings(model: BpeModel) -> set[bytes]:
    return {model.vocabulary[token] for token in np.flatnonzero(model.vocabulary.kinds != TokenKind.ABSENT)}


@pytest.mark.parametrize("name", KINDS)
def test_files_are_pruned_step_by_step(name: str) -> None:
    model = model_of(name)
    order, before = leaf_last_n(model), self_tokenization(model.merges)
    assert len(order) > 0
    old = BpeTokenizer(model).encode_batch(TEXTS)
    for count in range(len(order) + 1):
        pruned = prune(file_of(name), model, order[:count], name, TEXTS)
        new = BpeTokenizer(pruned.model).encode_batch(TEXTS)
        assert len(self_tokenization(pruned.model.merges).failed) <= len(before.failed)
        for index in range(len(TEXTS)):
            moved = pruned.ids.new[old.document(index)]
            assert (moved < 0).any() or moved.tolist() == new.document(index).tolist()
    assert len(old.ids) < len(new.ids)  # or no text would ask for a token


def replaced(data: bytes, model: BpeModel, order: Ids, pieces: WeightedPieces, texts: list[str]) -> tuple[int, Put]:
    """Twelve tokens go, and as many come as the pieces have."""
    size = int((model.vocabulary.kinds != TokenKind.ABSENT).sum()) - 12
    pruned = prune(data, model, first_of(model, order, size=size), "it")
    extension = extend(pruned.model, pieces, 12, min_frequency=1)
    return len(extension.tokens), put(pruned.data, pruned.model, extension, "it", texts)


@pytest.mark.parametrize("kind", ["tokenizer.json", "tiktoken"])
def test_others_take_the_place_of_tokens_that_go(kind: str) -> None:
    base = trained_model("gpt2")
    special = {} if kind == "tokenizer.json" else {"pattern": "gpt2", "special": base.special}
    data = export_model(base, "tokenizer.json" if kind == "tokenizer.json" else "tiktoken")
    model = import_model(data, **special)  # type: ignore[arg-type]
    counter, pieces = TokenCounter(model), ModelPieces(model)
    counter.add(OTHER + list(sample()[:20]))
    pieces.add(OTHER)
    order = leaf_order(model, counter.counts)
    count, made = replaced(data, model, order, pieces.pieces(), [*OTHER[:2], *sample()[:5]])
    assert count == 12
    new = {made.model.vocabulary[token] for token in made.placement.ids.tolist()}
    assert len(strings(made.model)) == len(strings(model))
    assert made.model.id_limit == made.placement.size == len(strings(model))
    assert strings(made.model) == strings(model) - {model.vocabulary[token] for token in order[:12]} | new
    assert len(self_tokenization(made.model.merges).failed) == 0
    assert len(BpeTokenizer(made.model).encode(OTHER[0])) < len(BpeTokenizer(model).encode(OTHER[0]))


def test_sizes_that_cannot_be_are_refused() -> None:
    model = model_of("byte level")
    order = leaf_last_n(model)
    assert len(order) == removable(model).sum()
    going, all_tokens = len(order) + 1, len(strings(model))
    with pytest.raises(InputError, match=rf"{going} of {all_tokens} .*\b{all_tokens - going}\b.*{going - 1} can"):
        first_of(model, order, size=all_tokens - going)
    with pytest.raises(InputError, match=r"size.*share"):
        first_of(model, order, size=1, share=0.5)


def test_nothing_comes_where_there_is_nothing_to_learn_from() -> None:
    data, model = file_of("byte level"), model_of("byte level")
    pruned = prune(data, model, first_of(model, leaf_last_n(model), size=len(strings(model)) - 2), "it")
    extension = extend(pruned.model, WeightedPieces.of_bytes({}), 2)
    assert not extension.complete
    assert len(strings(put(pruned.data, pruned.model, extension, "it").model)) == len(strings(model)) - 2
