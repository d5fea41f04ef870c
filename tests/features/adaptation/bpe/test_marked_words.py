"""Tokenizers that mark spaces, however they come to words: learning sees what their library does."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpe_files import metaspace
from cases.trained_rows import asked
from extended_models import extended_model
from pyharness.bpe import BpeModel, BpeTokenizer, WeightedPieces, import_model
from pyharness.features.adaptation.bpe.extension import continued
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, PieceRules, encoded
from pyharness.features.adaptation.trainers.growth import mass
from pyharness.features.training import trainers
from pyharness.types import TokenKind
from tokenizer_files import sequence, split

tokenizers = pytest.importorskip("tokenizers")

CASES = 8
LETTERS = "▁abcd1.\n"
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
LLAMA = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
BEHAVIOURS = ("Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "Removed")


def on(string: str, behaviour: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"String": string}, "behavior": behaviour, "invert": False}


STAGES: Mapping[str, tuple[Any, Any]] = {  # normalizer, pre_tokenizer
    "Llama 2": (LLAMA, None),
    "Yi": (REPLACE, None),
    "Gemma": (REPLACE, on(" ", "MergedWithPrevious")),
    "Mistral 0.2": (None, metaspace("first", split=False)),
    **{
        f"Metaspace {scheme}{', split' * split}": (None, metaspace(scheme, split=split))
        for scheme in ("always", "first", "never")
        for split in (False, True)
    },
    "Metaspace, as it was": (None, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}),
    "XLNet": (None, sequence({"type": "WhitespaceSplit"}, metaspace("always", split=True))),
    **{f"marks {behaviour}": (LLAMA, on("▁", behaviour)) for behaviour in BEHAVIOURS},
    "words": (REPLACE, split("▁*[a-d]+|[0-9]|[^a-d0-9]+")),
    "digits": (LLAMA, {"type": "Digits", "individual_digits": True}),
    "digits of words": (None, sequence({"type": "Digits", "individual_digits": True}, metaspace("first", split=True))),
    "punctuation": (REPLACE, {"type": "Punctuation", "behavior": "Isolated"}),
    "lines": (LLAMA, on("\n", "Isolated")),
}


def base_of(stages: tuple[Any, Any], words: Sequence[str], generator: random.Random, *, whole: bool) -> bytes:
    """Tokenizer of some rules, with strings that only a lookup finds; in some, tokens cross marks."""
    strings, merges = list(LETTERS), []
    crossing = generator.random() < 0.2
    for _ in range(generator.choice([0, 5, 12])):
        left, right = generator.choice(strings), generator.choice(strings)
        if left + right not in strings and len(left + right) < 6 and (crossing or "▁" not in right or left == "▁"):
            strings.append(left + right)
            merges.append([left, right])
    strings += [word for word in generator.sample(words, k=5) if len(word) > 1 and word not in strings]
    fallback = generator.random() < 0.5
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256 * fallback)), *strings]
    model = {"type": "BPE", "vocab": {piece: token for token, piece in enumerate(pieces)}, "merges": merges,
             "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": fallback, "ignore_merges": whole}  # fmt: skip
    content = {"version": "1.0", "added_tokens": [], "normalizer": stages[0], "pre_tokenizer": stages[1]}
    return json.dumps(content | {"model": model}).encode()


def cases(name: str) -> Iterator[tuple[bytes, list[str]]]:
    """Some tokenizers, and texts for each."""
    for seed in range(CASES):
        generator = random.Random(f"{name} {seed}")
        words = ["".join(generator.choices("abcd", k=generator.randint(1, 4))) for _ in range(9)]
        marked = [f"{mark}{word}" for mark in ("", "▁") for word in words]
        words += ["1", "a1", ".", "\n", "é", ""]
        texts = [" ".join(generator.choices(words, k=generator.choice([1, 1, 4, 9]))) for _ in range(30)]
        yield base_of(STAGES[name], marked, generator, whole=seed % 3 > 0), texts


def read_by_the_library(data: bytes, texts: list[str]) -> list[list[int]]:
    library = tokenizers.Tokenizer.from_buffer(data)
    return [encoding.ids for encoding in library.encode_batch(texts, add_special_tokens=False)]


def learnt_from(model: BpeModel, texts: list[str], rules: PieceRules) -> WeightedPieces:
    pieces = ModelPieces(model, rules)
    pieces.add(texts)
    return pieces.pieces()


@pytest.mark.parametrize("name", STAGES)
def test_pieces_replay_as_the_library_encodes_their_texts(name: str) -> None:
    rules, learnt = PieceRules(by_script=False, whitespace_only=True), 0
    for data, texts in cases(name):
        model = import_model(data)
        pieces = learnt_from(model, texts, rules)
        expected = Counter(token for ids in read_by_the_library(data, texts) for token in ids)
        assert mass(model, pieces) == expected.total()
        done = continued(model, pieces, 6, piece_rules=rules)
        grown = extended_model(model, done.extension)
        states = encoded(grown, pieces, whole_pieces=model.whole_pieces)
        assert np.array_equal(states.ids, done.states.ids)
        assert Counter(BpeTokenizer(grown).encode_batch(texts).ids.tolist()) == weighed(pieces, states)
        learnt += len(done.extension.tokens)
    assert learnt > 2 * CASES


def weighed(pieces: WeightedPieces, states: Any) -> Counter[int]:
    found: Counter[int] = Counter()
    for index, weight in enumerate(pieces.weights.tolist()):
        found.update(states.document(index).tolist() * weight)
    return found


@pytest.mark.parametrize("name", STAGES)
def test_adapted_files_are_read_alike(name: str, tmp_path: Path) -> None:
    path, changed = tmp_path / "tokenizer.json", 0
    for data, texts in cases(name):
        path.write_bytes(data)
        request = asked("continued-bpe", texts=partial(list, texts), base=str(path), tokens=6, min_frequency=1)
        trained = trainers.train("continued-bpe", request)
        assert trained.model is not None
        tokens = BpeTokenizer(trained.model).encode_batch(texts)
        ours = [tokens.document(index).tolist() for index in range(len(texts))]
        assert ours == read_by_the_library(trained.files["tokenizer.json"], texts)
        before = sum(map(len, read_by_the_library(data, texts)))
        assert trained.model.kind(trained.model.id_limit - 1) is TokenKind.NORMAL
        changed += len(tokens.ids) < before
    assert changed == CASES
