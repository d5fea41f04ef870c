"""Sentences, words and characters: against slow references, vectors, and what they promise."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.segments import sentences as oracle
from oracles.segments import words as oracle_of_words
from pyharness.features.segmentation import units
from pyharness.features.segmentation.units import CharacterUnits, SentenceUnits, WordUnits
from pyharness.types import HasSegments

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
ALPHABET = "aé日 ..!?。！？，、,;:\"')\n\r\t”»\u0301\0😀"


def made_up(count: int, most: int = 60) -> list[str]:
    draw = random.Random(31)
    return ["".join(draw.choices(ALPHABET, k=draw.randrange(most))) for _ in range(count)]


def cut(segmenter: HasSegments, texts: list[str]) -> list[list[str]]:
    found = segmenter.segment_batch(texts)
    sizes = np.array([len(text.encode()) for text in texts], np.int64)
    assert found.fault(sizes) is None
    units = []
    for index, text in enumerate(texts):
        ends = found.document(index).tolist()
        units.append([text.encode()[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)])
    return units


@pytest.mark.parametrize("cap", [1, 4, 9, 256])
def test_sentences_are_those_of_the_reference(cap: int) -> None:
    texts = made_up(500)
    assert cut(SentenceUnits(cap), texts) == [oracle.units(text, cap) for text in texts]
    commas = [oracle.units(text, cap, ".!?,", "。！？，、") for text in texts]
    assert cut(SentenceUnits(cap, commas=True), texts) == commas


@pytest.mark.parametrize("case", VECTORS["concept_units"], ids=lambda case: case["name"])
def test_vectors_of_sentences(case: dict[str, Any]) -> None:
    given = case["input"]
    assert cut(SentenceUnits(int(given["cap"])), [given["text"]]) == [case["expected"]]


def test_a_sentence_of_chinese_is_not_cut_at_commas_unless_asked() -> None:
    text = "他来了，我走了。"
    assert cut(SentenceUnits(), [text]) == [[text]]
    assert cut(SentenceUnits(commas=True), [text]) == [["他来了，", "我走了。"]]


def test_words_and_characters() -> None:
    texts = [*made_up(500), "don't stop", ""]
    assert cut(WordUnits(), texts) == [oracle_of_words.units(text) for text in texts]
    assert cut(CharacterUnits(), texts) == [list(text) for text in texts]


@pytest.mark.parametrize("text", ["." * 400_000 + "x", ".)" * 200_000 + "x", "." + ")" * 400_000 + "x", "x" * 400_000])
def test_hostile_runs_take_linear_time(text: str) -> None:
    start = time.perf_counter()
    cut(SentenceUnits(), [text])
    assert time.perf_counter() - start < 5, "seconds; it takes hours where runs are read again"
    assert len(units.SENTENCE_RULES) == 2
