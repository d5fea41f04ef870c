"""Rules for pieces: as SentencePiece's trainer applies them, and as a model file says them."""

from __future__ import annotations

import dataclasses
import io
import random
from pathlib import Path
from typing import Any

import pytest

from pyharness.bpe.formats.imports import model_of_sentencepiece
from pyharness.features.adaptation.bpe.extension import extend
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, PieceRules, character_classes, read_piece_rules
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import PieceType, SentencePieceModel, read_model

WORDS = (
    *("abc", "a1b2", "12", "x9", "日本", "カナ", "のが", "ラーメン", "abか", "word", "the", "1st", "αβγ", "aβ", "été"),
    *("e\u0301t", "\u0e01\u0e32", "don", "ab-ab", "3.14", "then", "١٢", "１２"),
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"split_digits": True},
    {"split_by_number": False},
    {"split_by_unicode_script": False},
    {"split_by_whitespace": False},
    {"treat_whitespace_as_suffix": True},
    {"treat_whitespace_as_suffix": True, "split_by_whitespace": False},
    {"allow_whitespace_only_pieces": True},
    {"max_sentencepiece_length": 3},
]


def trained_by_sentencepiece(texts: list[str], options: dict[str, Any]) -> bytes:
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    out = io.BytesIO()
    trainer.train(
        sentence_iterator=iter(texts), model_writer=out, model_type="bpe", vocab_size=150, hard_vocab_limit=False,
        character_coverage=1.0, remove_extra_whitespaces=False, normalization_rule_name="identity", minloglevel=2,
        **options,
    )  # fmt: skip
    return out.getvalue()


def without(file: SentencePieceModel, pieces: list[int]) -> SentencePieceModel:
    kept = [index for index in range(len(file.pieces)) if index not in pieces]
    return dataclasses.replace(
        file,
        pieces=tuple(file.pieces[index] for index in kept),
        scores=tuple(file.scores[index] for index in kept),
        types=tuple(file.types[index] for index in kept),
    )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kept", [0, 12])
def test_a_model_goes_on_as_sentencepiece_itself_would(options: dict[str, Any], kept: int) -> None:
    generator = random.Random(3)
    texts = [" ".join(generator.choices(WORDS, k=generator.randint(1, 8))) + generator.choice(["", "  ", "   x"])
             for _ in range(400)]  # fmt: skip
    data = trained_by_sentencepiece(texts, options)
    file, rules = read_model(data, "the file"), read_piece_rules(data, "the file")
    normal = [
        index for index, kind in enumerate(file.types) if kind is PieceType.NORMAL and len(file.pieces[index]) > 1
    ]
    merged = sorted(normal, key=lambda index: -file.scores[index])
    model = model_of_sentencepiece(without(file, merged[kept:]), "the file")
    pieces = ModelPieces(model, rules)
    pieces.add(texts)
    extension = extend(
        model, pieces.pieces(), len(merged) - kept, tie_rule="sentencepiece", min_frequency=1, piece_rules=rules
    )
    expected = [file.pieces[index] for index in merged[kept:]]
    # Where no pair is left, SentencePiece goes on with such that do not occur any more.
    assert [token.decode() for token in extension.tokens] == expected[: len(extension.tokens)]
    assert len(extension.tokens) > 10
    without_rules = extend(model, pieces.pieces(), 200, tie_rule="sentencepiece", min_frequency=1)
    assert len(without_rules.tokens) > len(extension.tokens) or options.get("split_by_whitespace") is False


def test_rules_are_read_from_the_file() -> None:
    said = {"split_digits": True, "allow_whitespace_only_pieces": True, "max_sentencepiece_length": 5}
    data = trained_by_sentencepiece(["ab ab 12"] * 9, said)
    assert read_piece_rules(data, "the file") == PieceRules(digits_alone=True, whitespace_only=True, longest=5)
    assert read_piece_rules(b"", "the file") == PieceRules()
    with pytest.raises(InputError, match=r"the file: .*sentencepiece_length is 0"):
        read_piece_rules(b"\x12\x03\xa0\x01\x00", "the file")


def test_kana_are_han_and_marks_have_no_script() -> None:
    points, scripts, digits = character_classes("aか\u30fc中\u0301٣3３")
    script = dict(zip(map(chr, points.tolist()), scripts.tolist(), strict=True))
    assert script["か"] == script["\u30fc"] == script["中"] != script["a"]
    assert script["\u0301"] == 0
    assert [chr(point) for point in points[digits]] == ["3", "３"]


@pytest.mark.data
@pytest.mark.parametrize("name", ["tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"])
def test_what_mistral_says(data: Path, name: str) -> None:
    content = (data / "tokenizers" / "mistral" / name).read_bytes()
    assert read_piece_rules(content, name) == PieceRules(digits_alone=True, whitespace_only=True)
