"""The pure parts of the study of a growing vocabulary: groups, encoder, slopes, intervals, verdicts, Pattention."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curriculum import bodies, slopes
from curriculum.slopes import Estimate, end_points, estimate, least_squares, steps_to_recover, verdict
from curriculum.vocabulary import Grown
from pyharness.features.curriculum.groups import GroupCounter
from pyharness.types import InputError

VECTORS = json.loads((Path(__file__).parents[2] / "tests" / "support" / "vectors.json").read_text(encoding="utf-8"))[
    "vectors"
]
CASES = 500


def slow_pattention(x: Any, keys: Any, values: Any, scale: float) -> list[float]:
    a = [sum(p * q for p, q in zip(x, k, strict=True)) for k in keys]
    norm = math.sqrt(sum(v * v for v in a))
    z = [v / norm * scale if norm else 0.0 for v in a]
    w = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in z]
    return [sum(wi * v[d] for wi, v in zip(w, values, strict=True)) for d in range(len(values[0]))]


@pytest.mark.parametrize("case", VECTORS["vocab_curriculum_encode"], ids=lambda case: case["name"])
def test_encoder_of_the_vectors(case: dict[str, Any]) -> None:
    vocabulary = Grown(tuple(case["input"]["vocab"].values()))
    found = [vocabulary.strings[token] for token in vocabulary.encode(case["input"]["text"])]
    assert found == case["expected"]["fixpoint(code)"]
    twice = vocabulary.encode_all([case["input"]["text"]] * 2).tolist()
    assert [vocabulary.strings[token] for token in twice] == found * 2  # no token crosses the end of a text


def counted(groups: Sequence[Sequence[int]]) -> GroupCounter:
    counter = GroupCounter(1.0)
    for group in groups:
        counter.add(np.array(group, np.uint32), np.linspace(0.9, 0, len(group)), np.array([0, len(group)]))
    return counter


def test_growth_adds_left_prefixes_of_the_most_frequent_groups_first() -> None:
    start, found = Grown(("a", "b", "c")), counted([(0, 1, 2), (1, 2), (1, 2), (2, 0), (1, 0)])
    grown = start.grow(found, 99)
    assert grown.strings == ("a", "b", "c", "bc", "ab", "abc", "ba", "ca")
    assert start.grow(found, 5).strings == ("a", "b", "c", "bc", "ab")
    assert start.grow(counted([]), 99) == start
    assert grown.grow(counted([(3, 0), (4, 2)]), 99).strings == (*grown.strings, "bca")  # "abc" was there
    assert grown.grow(found, 4).strings == grown.strings  # it never shrinks


@pytest.mark.parametrize("case", VECTORS["vocab_curriculum_bpc"], ids=lambda case: case["name"])
def test_slopes_of_the_vectors(case: dict[str, Any]) -> None:
    points = case["input"]["vocab"], np.array(case["input"]["bpc"])
    assert end_points(*points) == pytest.approx(case["expected"]["endpoint_slope"], abs=1e-12)
    assert least_squares(*points) == pytest.approx(case["expected"]["ols_slope"], abs=1e-12)


def test_slopes_of_random_points() -> None:
    chance = np.random.default_rng(3)
    for _ in range(CASES):
        sizes = chance.choice(np.arange(2, 50_000), chance.integers(2, 9), replace=False).tolist()
        bits = chance.normal(1.5, 0.3, len(sizes))
        x = np.log10(sizes)
        low, high = np.argmin(x), np.argmax(x)
        assert end_points(sizes, bits) == pytest.approx((bits[high] - bits[low]) / (x[high] - x[low]), rel=1e-9)
        assert least_squares(sizes, bits) == pytest.approx(np.polyfit(x, bits, 1)[0], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("slope", [end_points, least_squares])
def test_a_slope_needs_two_sizes(slope: Any) -> None:
    with pytest.raises(InputError, match="needs two sizes"):
        slope([100, 100], np.array([1.0, 2.0]))


def test_intervals_of_slopes_hold_the_truth() -> None:
    """Works and seeds whose slopes differ: the interval over both holds the true slope, and one alone does not."""
    chance, truth, held = np.random.default_rng(4), -0.1, [0, 0]
    for _ in range(200):
        works = truth + chance.normal(0, 0.03, 8)
        of_seeds = chance.normal(0, 0.02, 3)
        seeds = [float(np.mean(works)) + one for one in of_seeds]
        without = [float(np.mean(np.delete(works, g)) + np.mean(of_seeds)) for g in range(8)]
        found = estimate(seeds, without)
        assert found.both is not None
        assert found.works is not None
        held[0] += found.both[0] <= truth <= found.both[1]
        held[1] += abs(found.value - truth) <= found.works
    assert held[0] >= 190
    assert held[1] < 190  # an experiment that tells


def test_where_there_is_no_interval() -> None:
    assert estimate([1.0], [1.0] * 8).both is None
    assert estimate([1.0, 2.0], [1.0] * 4).both is None
    assert str(estimate([1.0, 2.0], [1.0] * 4)) == "+1.5000"


def test_jump_and_recovery() -> None:
    assert slopes.jump(2.0, 3.5) == 1.5
    assert steps_to_recover([0, 1, 2, 4], [9.0, 5.0, 3.0, 2.0], 3.0) == 2
    assert steps_to_recover([0, 1], [9.0, 5.0], 3.0) is None
    assert steps_to_recover([0, 1], [1.0, 5.0], 3.0) == 0


def sure(value: float, half: float = 0.001) -> Estimate:
    return Estimate(value, half, 0.0)


@pytest.mark.parametrize(
    ("curriculum", "matched", "gap", "lacks", "expected"),
    [
        (sure(-0.147), sure(-0.109), sure(-0.038), "", "replicated: both intervals hold the published slopes"),
        (sure(-0.147), sure(-0.109), sure(-0.038), "it is small", "not testable here, because it is small; here the "),
        (sure(-0.2), sure(-0.109), sure(-0.091), "", "not resolved: the curriculum's slope falls more"),
        (sure(-0.109), sure(-0.109), sure(0.0), "", "refuted: the curriculum's slope differs by nothing"),
        (sure(-0.09), sure(-0.109), sure(0.019), "", "refuted: the curriculum's slope falls less"),
        (Estimate(-0.147, 0.1, None), sure(-0.109), sure(-0.038), "", "not testable here, because there is no int"),
        (sure(-0.147, 0.1), sure(-0.109, 0.1), sure(-0.038, 0.1), "", "not resolved: "),
    ],
)
def test_verdicts(curriculum: Estimate, matched: Estimate, gap: Estimate, lacks: str, expected: str) -> None:
    assert verdict(curriculum, matched, gap, lacks).startswith(expected)


@pytest.mark.parametrize("case", VECTORS["pattention"], ids=lambda case: case["name"])
def test_pattention_of_the_vectors(case: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    x, keys, values = (torch.tensor(case["input"][name], dtype=torch.float64) for name in ("x", "K", "V"))
    found = bodies.pattention(x, [keys], [values], math.sqrt(len(keys)))  # the scale of the repository
    assert found.tolist() == pytest.approx(case["expected"], rel=1e-6)
    held = bodies.pattention(x, [keys[:2], keys[2:]], [values[:2], values[2:]], math.sqrt(2))
    assert held.tolist() == bodies.pattention(x, [keys[:2]], [values[:2]], math.sqrt(2)).tolist()


def test_keys_of_zero_change_no_bit_where_the_scale_is_held() -> None:
    torch = pytest.importorskip("torch")
    chance = np.random.default_rng(5)
    for case in range(CASES):
        width, count, more = (int(one) for one in chance.integers(1, 20, 3))
        x, keys, values, added = (
            torch.from_numpy(chance.normal(0, 1, shape)).to(torch.float32 if case % 2 else torch.float64)
            for shape in ((3, width), (count, width), (count, 4), (more, 4))
        )
        scale = math.sqrt(count)
        plain = bodies.pattention(x, [keys], [values], scale)
        expected = [
            slow_pattention(*one, scale)
            for one in zip(x.tolist(), [keys.tolist()] * 3, [values.tolist()] * 3, strict=True)
        ]
        torch.testing.assert_close(plain.double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-5)
        zero = keys.new_zeros(more, width)
        grown = bodies.pattention(x, [keys, zero], [values, added], scale)
        assert grown.numpy().tobytes() == plain.numpy().tobytes()
        scaled = bodies.pattention(x, [keys, zero], [values, added], math.sqrt(count + more))
        assert scaled.numpy().tobytes() != plain.numpy().tobytes()
