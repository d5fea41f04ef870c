"""Patches without a model: against slow references, published vectors, and what they promise."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.segments import patches as oracle
from pyharness.features.segmentation.patches import SpacePatches, StaticPatches
from pyharness.types import HasSegments, Segments

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
ALPHABET = "ab Z09_.-\n\t\0é日ก\u0301😀\ufffd{}@[`~\x7f"
ODD = ("", "a", " ", "é", "x" * 5000, "日本語" * 100, "\0\0", "\ufffd")


def made_up(count: int, seed: int = 13) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(ALPHABET, k=draw.randrange(40))) for _ in range(count)]


def lengths_of(segments: Segments) -> list[list[int]]:
    return [np.diff(segments.document(index), prepend=0).tolist() for index in range(len(segments))]


def by_the_repository(text: str) -> list[int]:
    data = text.encode()
    if not data:
        return []
    patches = oracle.repo_space([byte + 4 for byte in data])
    return patches[:-1] if patches[-1] == 1 else [*patches[:-1], patches[-1] - 1]


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_static_patches_are_those_of_the_reference(size: int) -> None:
    texts = [*made_up(500), *ODD]
    found = StaticPatches(size).segment_batch(texts)
    assert lengths_of(found) == [oracle.static(len(text.encode()), size) for text in texts]
    assert found.fault(np.array([len(text.encode()) for text in texts])) is None


def test_patches_after_spaces_are_those_of_the_reference() -> None:
    texts = [*made_up(500), *ODD]
    paper = SpacePatches("paper").segment_batch(texts)
    assert lengths_of(paper) == [oracle.paper_space(text.encode()) if text else [] for text in texts]
    assert lengths_of(SpacePatches("repo").segment_batch(texts)) == [by_the_repository(text) for text in texts]


@pytest.mark.parametrize("case", VECTORS["blt_space"], ids=lambda case: case["name"])
def test_vectors_of_spaces(case: dict[str, Any]) -> None:
    text = bytes.fromhex(case["input"]["bytes_hex"]).decode()
    expected = case["expected"]
    assert lengths_of(SpacePatches("paper").segment_batch([text])) == [expected["paper_rule"]]
    with_next = oracle.repo_space([byte + 4 for byte in text.encode()])
    assert with_next == expected["repo_rule_no_bos_with_next"]
    assert lengths_of(SpacePatches("repo").segment_batch([text])) == [by_the_repository(text)]


@pytest.mark.parametrize("case", VECTORS["blt_static"], ids=lambda case: case["name"])
def test_vectors_of_sizes(case: dict[str, Any]) -> None:
    given = case["input"]
    assert lengths_of(StaticPatches(given["size"]).segment_batch(["x" * given["n"]])) == [case["expected"]]


CAUSAL: tuple[HasSegments, ...] = (StaticPatches(4), SpacePatches("paper"), SpacePatches("repo"))


@pytest.mark.parametrize("segmenter", CAUSAL)
def test_the_units_of_a_prefix_are_those_of_the_whole(segmenter: HasSegments) -> None:
    for text in made_up(200, seed=5):
        cuts = [text[:size] for size in range(len(text) + 1)]
        whole = [0, *segmenter.segment_batch([text]).ends.tolist()]
        prefixes = segmenter.segment_batch(cuts)
        for index, cut in enumerate(cuts):
            starts = [0, *prefixes.document(index).tolist()[:-1]] if cut else []
            assert starts == [start for start in whole[:-1] if start < len(cut.encode())]


def test_text_outside_latin_is_cut_at_every_character() -> None:
    text = "ไทยและ日本語"
    ends = SpacePatches("paper").segment_batch([text]).ends.tolist()
    assert ends == [1, *range(4, 3 * len(text), 3), 3 * len(text)], "behind the first byte of each"
