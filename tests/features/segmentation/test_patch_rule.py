"""Where patches start: against a slow reference, vectors, and what the rules promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.segments import patches as oracle
from pyharness.features.segmentation.byte_entropies import Entropies, PatchRule, patch_starts
from pyharness.types import offsets_of

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
NOT_TIED = 1e-4  # nats; float32 decides nearer ones otherwise than the reference


def lengths(starts: NDArray[np.bool_]) -> list[int]:
    found: list[int] = np.diff(np.append(np.flatnonzero(starts), len(starts))).tolist()
    return found


def drawn(draw: np.random.Generator, size: int) -> Entropies:
    return draw.gamma(1.5, 1.0, size).astype(np.float32)


def rule_of(draw: np.random.Generator, mode: str) -> PatchRule:
    longest = int(draw.integers(1, 9)) if draw.random() < 0.5 else None
    return PatchRule(mode, float(np.float32(draw.normal(1, 1))), float(np.float32(draw.normal(0, 0.5))), longest)


def is_tied(entropies: Entropies, rule: PatchRule) -> bool:
    grown = np.diff(entropies.astype(np.float64))
    near = [np.abs(grown - rule.threshold), np.abs(grown - rule.threshold_add), np.abs(entropies - rule.threshold)]
    return any(len(one) and one.min() < NOT_TIED for one in near)


@pytest.mark.parametrize("mode", ["global", "monotonic", "combined"])
def test_starts_are_those_of_the_reference_in_every_text(mode: str) -> None:
    draw, compared = np.random.default_rng(len(mode)), 0
    while compared < 500:
        sizes, rule = draw.integers(0, 30, 3).tolist(), rule_of(draw, mode)
        parts = [drawn(draw, size) for size in sizes]
        if any(is_tied(part, rule) for part in parts):
            continue
        offsets = offsets_of(sizes)
        starts = patch_starts(np.concatenate(parts), offsets, rule)
        for part, a, b in zip(parts, offsets, offsets[1:], strict=False):
            if a == b:
                continue
            h = [*part[1:].tolist(), 9.0]
            found = lengths(starts[a:b])
            expected = oracle.by_entropy(h, len(part), rule.threshold, mode, rule.threshold_add, rule.max_patch_length)
            assert found == expected, (part.tolist(), rule)
        compared += 1


@pytest.mark.parametrize("case", VECTORS["blt_entropy"], ids=lambda case: case["name"])
def test_vectors(case: dict[str, Any]) -> None:
    given = case["input"]
    mode = {"both": "combined"}.get(given["mode"], given["mode"])
    rule = PatchRule(mode, given["threshold"], given.get("t_add", 0.0), given.get("max_len"))
    entropies = np.array([0.0, *given["h_nats"]][: given["n"]], np.float32)
    assert lengths(patch_starts(entropies, np.array([0, given["n"]]), rule)) == case["expected"]


@pytest.mark.parametrize("mode", ["global", "monotonic", "combined"])
def test_the_patches_of_a_prefix_are_those_of_the_whole(mode: str) -> None:
    draw = np.random.default_rng(3)
    for _ in range(200):
        rule, entropies = rule_of(draw, mode), drawn(draw, 40)
        whole = patch_starts(entropies, np.array([0, 40]), rule)
        for size in range(41):
            assert np.array_equal(patch_starts(entropies[:size], np.array([0, size]), rule), whole[:size])


@pytest.mark.parametrize("mode", ["global", "monotonic", "combined"])
@pytest.mark.parametrize("longest", [None, 3])
def test_a_higher_threshold_never_gives_more_patches(mode: str, longest: int | None) -> None:
    draw = np.random.default_rng(4)
    for _ in range(100):
        entropies = drawn(draw, 60)
        thresholds = np.sort(draw.normal(1, 1, 8)).tolist()
        rules = [PatchRule(mode, threshold, 0.1, longest) for threshold in thresholds]
        counts = [int(patch_starts(entropies, np.array([0, 25, 25, 60]), rule).sum()) for rule in rules]
        assert counts == sorted(counts, reverse=True)


def test_entropies_are_compared_in_float32() -> None:
    threshold = 0.1  # nearest float32: 0.100000001490116
    entropies = np.full(3, threshold, np.float32)
    assert float(entropies[2]) > threshold
    assert patch_starts(entropies, np.array([0, 3]), PatchRule(threshold=threshold)).tolist() == [True, True, False]
