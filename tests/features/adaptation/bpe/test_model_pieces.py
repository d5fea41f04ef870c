"""Pieces of a model are what its merges get: laid end to end, their encodings are those of the tokenizer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapted.bases import metaspace_file
from bpe_models import trained
from extended_models import byte_model, extended_model
from pyharness import _core
from pyharness.bpe import BpeModel, BpeTokenizer, WeightedPieces, import_model, model_of_training, self_tokenization
from pyharness.bpe.formats.imports import model_of_sentencepiece
from pyharness.corpora import open_corpus
from pyharness.features.adaptation.bpe.extension import continued, extend
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, PieceRules, encoded, read_piece_rules
from pyharness.types import InputError, Tally, Tokens
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel

TEXTS = ["ab ab  ba", "", "<|end|>ab", "aé b<|end|><|end|>", "   a"]
NORMAL, CONTROL = PieceType.NORMAL, PieceType.CONTROL


def sentencepiece_model(*more: str, suffix: bool = False, unused: Sequence[str] = ()) -> BpeModel:
    pieces = {"<unk>": PieceType.UNKNOWN, "<s>": CONTROL, **dict.fromkeys(["a", "b", "▁", *more], NORMAL)}
    pieces |= dict.fromkeys(unused, PieceType.UNUSED)
    scores = tuple(-float(index) for index in range(len(pieces)))
    file = SentencePieceModel(tuple(pieces), scores, tuple(pieces.values()), ModelType.BPE)
    if suffix:
        file = dataclasses.replace(file, normalizer=dataclasses.replace(file.normalizer, whitespace_as_suffix=True))
    return model_of_sentencepiece(file, "the file")


def counted(model: BpeModel, texts: list[str], rules: PieceRules | None = None) -> dict[bytes, int]:
    counter = ModelPieces(model, rules)
    counter.add(texts)
    pieces = counter.pieces()
    data = pieces.symbols.astype(np.uint8)
    parts = [data[start:end].tobytes() for start, end in zip(pieces.offsets[:-1], pieces.offsets[1:], strict=True)]
    return dict(zip(parts, pieces.weights.tolist(), strict=True))


def test_special_and_added_tokens_are_no_pieces() -> None:
    model = model_of_training(trained("gpt2"), "gpt2", special=["<|end|>"])
    assert counted(model, TEXTS) == {
        b"ab": 2,
        b" ab": 1,
        b" ": 1,
        b" ba": 1,
        "aé".encode(): 1,
        b" b": 1,
        b"  ": 1,
        b" a": 1,
    }


@pytest.mark.parametrize(
    ("more", "suffix", "rules", "expected"),
    [
        ((), False, None, {"▁ab": 1, "▁b": 2}),
        (("▁a",), False, None, {"▁ab": 1, "▁b": 2}),
        (("a▁b",), False, None, {"▁ab▁b▁b": 1}),
        ((), False, PieceRules(by_whitespace=False), {"▁ab▁b▁b": 1}),
        ((), True, None, {"ab▁": 1, "b▁": 2}),
        (("▁a",), True, None, {"ab▁b▁b▁": 1}),
    ],
)
def test_marks_cut_where_no_token_crosses_them(
    more: tuple[str, ...], suffix: bool, rules: PieceRules | None, expected: dict[str, int]
) -> None:
    model = sentencepiece_model(*more, suffix=suffix)
    found = counted(model, ["ab b b"], rules)
    assert found == {piece.encode(): count for piece, count in expected.items()}


@pytest.mark.parametrize("text", ["a ab  b", "é ab", "<s>ab <s>", "a" * 50 + " " * 9 + "ba"])
def test_pieces_have_the_tokens_of_the_text(text: str) -> None:
    model = sentencepiece_model("ab", "▁a", "▁▁", "▁ab")
    pieces = counted(model, [text])
    ids = encoded(model, WeightedPieces.of_bytes(pieces), whole_pieces=False)
    found: Counter[int] = Counter()
    for index, count in enumerate(pieces.values()):
        found.update(ids.document(index).tolist() * count)
    expected = Counter(BpeTokenizer(model).encode(text, allowed_special="all").tolist())
    del expected[model.special["<s>"]]
    assert found == expected


def test_no_rule_makes_or_takes_special_tokens_unknown_ones_or_bytes() -> None:
    model = byte_model({0: b"<", 1: b"s", 2: b">", 3: b"<s>"}, rules=[], special=[3])
    extension = extend(model, WeightedPieces.of_bytes({b"<s>": 9, b"s><s>": 2}), 9)
    assert extension.tokens == (b"s>", b"s><", b"s><s>")  # and not `<` with `s>`, the commonest of all
    unknown = sentencepiece_model()
    assert extend(unknown, WeightedPieces.of_bytes({"▁éaé".encode(): 9}), 9).tokens == ()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_of_characters_are_encoded_as_texts_of_their_own(threads: int) -> None:
    model = sentencepiece_model("▁a", "ab", "▁ab", "b▁")
    parts = ["ab", "▁a", "é", "a\x00b", "▁", "ab▁ab"]
    pieces = WeightedPieces.of_bytes({part.encode(): 1 for part in parts} | {b"\xff\xc3a": 1, b"": 1, b"\xa9": 1})
    options: dict[str, Any] = {
        "characters": True, "alphabet": list(model.alphabet.items()), "prefix": b"", "suffix": b"",
        "fallback": np.zeros(0, np.uint32), "unknown": model.unknown, "fuse_unknown": model.fuse_unknown,
        "whole_pieces": False, "longest_match": False, "expansion": None,
    }  # fmt: skip
    texts = [*(part.encode() for part in parts), b"\xff\xc3a", b"", b"\xa9"]
    expected = Tokens(*_core.SymbolEncoder(model.merges, **options).encode_batch(texts, None, 1))
    found = encoded(model, pieces, whole_pieces=False, threads=threads)
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.ids.tolist() == expected.ids.tolist()
    with pytest.raises(ValueError, match="offsets"):
        _core.SymbolEncoder(model.merges, **options).encode_pieces(np.zeros(3, np.uint8), np.array([0, 4]), threads)


def test_what_cannot_be_extended() -> None:
    pieces = WeightedPieces.of_bytes({b"ab": 3})
    scaffold = model_of_training(trained("gpt2", scaffold=True), "gpt2")
    model = model_of_training(trained("gpt2"), "gpt2")
    with pytest.raises(InputError, match=r"Scaffold-BPE.*extended"):
        extend(scaffold, pieces, 1)
    with pytest.raises(InputError, match=r"Scaffold-BPE.*extended"):
        ModelPieces(scaffold)
    with pytest.raises(InputError, match="min_frequency is 0"):
        extend(model, pieces, 1, min_frequency=0)
    with pytest.raises(InputError, match=rf"2,147,483,647 tokens .*\b{model.id_limit} ids"):
        extend(model, pieces, (1 << 31) - 1)
    with pytest.raises(InputError, match=r"cascade.* ranks"):
        extend(byte_model({0: b"a"}, ranks={}), pieces, 1, cascade=False)
    with pytest.raises(ZeroDivisionError):
        extend(model, WeightedPieces.of_bytes({b"qxqx": 3}), 1, denies=lambda text: bool(1 // (len(text) - 2)))


def test_denied_strings_are_asked_about_as_text() -> None:
    asked: list[str] = []

    def denies(text: str) -> bool:
        asked.append(text)
        return "\ufffd" in text

    model = byte_model({0: b"a", 1: b"\xc3", 2: b"\xa9", 3: b" "}, rules=[])
    extension = extend(model, WeightedPieces.of_bytes({" aé".encode(): 3}), 9, denies=denies)
    assert extension.tokens == ("é".encode(), "aé".encode(), " aé".encode())
    assert len(asked) == len(set(asked))  # each once
    asked.clear()
    extend(sentencepiece_model(), WeightedPieces.of_bytes({"▁a▁b".encode(): 3}), 1, denies=denies)
    assert asked[0] in {" a", "a ", " b"}


@pytest.mark.parametrize(
    ("split", "expected"),
    [(True, {"▁abcd": 12, "▁ab": 3, "▁ef": 6}), (False, {"▁abcd▁abcd▁abcd▁abcd▁ab▁ef▁ef": 3})],
)
def test_pieces_are_looked_up_as_the_model_cuts_them(split: bool, expected: dict[str, int]) -> None:
    """The model finds ▁abcd by lookup alone: a new rule for it would never be used, unless it sees longer pieces."""
    model = import_model(metaspace_file(split=split))
    texts = ["abcd abcd abcd abcd ab ef ef"] * 3
    assert counted(model, texts) == {piece.encode(): count for piece, count in expected.items()}
    pieces = ModelPieces(model)
    pieces.add(texts)
    assert extend(model, pieces.pieces(), 1).tokens == (("▁e" if split else "▁a").encode(),)


def test_pieces_that_are_taken_apart_again_cross_marks_too() -> None:
    """An unused a▁ merges before ▁b does, and is a and ▁ again in the end."""
    model = sentencepiece_model("a▁", "▁b", unused=("a▁",))
    counted_pieces = counted(model, ["b a b"])
    assert counted_pieces == {"▁b▁a▁b".encode(): 1}
    ids = BpeTokenizer(model).encode("b a b").tolist()
    assert ids.count(6) == 1  # ▁b, and not both of them


def test_progress_counts_new_tokens() -> None:
    heard: list[int] = []
    model = model_of_training(trained("gpt2", size=257), "gpt2")
    pieces = ModelPieces(model)
    pieces.add(list(open_corpus("sample").documents(Tally()))[:300])
    extend(model, pieces.pieces(), 600, progress=heard.append)
    assert heard == [256, 512]


FILES = ("gpt2/tokenizer.json", "deepseek_v3/tokenizer.json", "yi/tokenizer.json", "tiktoken/cl100k_base.tiktoken",
         "mistral/tokenizer.model.v1")  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_replay_on_real_files(data: Path, name: str) -> None:
    path = data / "tokenizers" / name
    model = import_model(path)
    rules = read_piece_rules(path.read_bytes(), name) if ".model" in name else None
    counter = ModelPieces(model, rules)
    text = open_corpus(f"path:{data / 'corpora' / 'multilingual' / 'et' / 'ud_ewt.jsonl.xz'}")
    counter.add(list(text.documents(Tally())))
    pieces = counter.pieces()
    done = continued(model, pieces, 1000, piece_rules=rules)
    grown = extended_model(model, done.extension)
    states = encoded(grown, pieces, whole_pieces=model.whole_pieces)
    assert done.extension.complete
    assert np.array_equal(states.ids, done.states.ids)
    assert np.array_equal(states.offsets, done.states.offsets)
    assert not (self_tokenization(grown.merges).failed >= model.id_limit).any()
