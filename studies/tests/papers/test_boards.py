"""Boards of peers: the arithmetic of their studies, on what is published and on made-up numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from boards import (
    aligned_lines,
    planted_rows,
    predictions,
    premiums,
    published,
    sample_ids,
    token_kinds,
    untrained_lists,
)
from pyharness import tokenizers

scipy_stats = pytest.importorskip("scipy.stats", reason="an oracle of rank correlations")


def test_pooled_correlations_are_the_published_ones() -> None:
    board = published("toklens_points")
    assert len(board["points"]) == 77
    for metric, theirs in board["spearman"].items():
        assert predictions.rank_correlation(board["points"], metric) == pytest.approx(theirs, abs=predictions.AGREES)
        values = [[point[name] for point in board["points"]] for name in (metric, "score")]
        assert predictions.rank_correlation(board["points"], metric) == pytest.approx(scipy_stats.spearmanr(*values)[0])


@pytest.mark.parametrize("within", predictions.WITHIN)
def test_a_planted_slope_is_found_and_resolved(within: predictions.Within) -> None:
    rng = np.random.default_rng(1)
    points = [{**point, "fertility": rng.normal()} for point in published("toklens_points")["points"]]
    spread = np.std([point["fertility"] for point in points])
    levels = {point["model"]: 10.0 * np.log(point["params_b"]) for point in points}
    for point in points:
        point["score"] = levels[point["model"]] + 3.0 * point["fertility"] + rng.normal(0, 0.1)
    slope = predictions.estimated(points, "fertility", within)
    assert slope.value == pytest.approx(3.0 * spread, abs=0.2)
    assert slope.resolved
    assert within == "languages" or predictions.gain(points, "fertility") > 0.9


def test_noise_is_not_resolved_and_predicts_nothing() -> None:
    resolved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = [{**point, "strr": rng.normal()} for point in published("toklens_points")["points"]]
        resolved += predictions.estimated(points, "strr", "both").resolved
        assert predictions.gain(points, "strr") < 0.15
    assert resolved <= 3


def test_ids_and_counts_are_compared_text_by_text() -> None:
    row = tokenizers.load("raw_bytes")
    compared = sample_ids.compare("bytes", row, {"a": "ab", "b": "é"}, {"a": [97, 98], "b": [1]})
    assert (compared.equal, compared.differing) == (1, ("b",))
    texts = {premiums.ENGLISH: "ab", "x": "abcdef", "y": "abc"}
    theirs = {code: {"bytes": count} for code, count in ((premiums.ENGLISH, 2), ("x", 6), ("y", 4))}
    counted = premiums.count("bytes", row, texts, theirs)
    assert counted.differing == ["y"]
    assert counted.largest_premium(counted.ours) == (3.0, "x")


def test_a_text_is_joined_as_the_original_joins_it(tmp_path: Path) -> None:
    for part in ("dev", "devtest"):
        (tmp_path / part).mkdir()
        (tmp_path / part / f"x.{part}").write_text(f"{part} one\n{part} two\n")
    assert premiums.joined(tmp_path, "x") == "dev one dev two  devtest one devtest two "


@pytest.mark.parametrize("tokens", [1, 50, 51, 100, 101, 4991])
def test_what_is_tested_is_what_the_percentile_leaves(tokens: int) -> None:
    values = np.random.default_rng(0).permutation(tokens).astype(float)
    assert untrained_lists.tested(tokens) == int((values <= np.percentile(values, untrained_lists.PERCENT)).sum())


def test_names_of_special_tokens_have_the_shape_of_the_original() -> None:
    shapes = {"<h1>": True, "[PAD]": True, "<|im_end|>": True, "<!--": False, "<1>": False, "a<b>": False}
    assert {name: bool(untrained_lists.NAMED.fullmatch(name)) for name in shapes} == shapes


def test_few_planted_rows_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert planted_rows.main(["--seeds", "1", "--rows", "500"]) == 0
    assert "near zero" in capsys.readouterr().out


def test_parities_are_means_of_lines_and_costs_are_of_all() -> None:
    row = tokenizers.load("raw_bytes")
    lines = {aligned_lines.ENGLISH: ["ab", "abcd"], "x": ["abcd", "abcd"]}
    assert dict(aligned_lines.parity(row, 0, lines)) == {"x": (2 + 1) / 2}
    assert dict(aligned_lines.parity(row, 2, lines)) == {"x": (6 / 4 + 1) / 2}
    board = aligned_lines.board_of(row, lines, 256)
    assert (board["fertility"], board["utilization"], board["ttr"]) == (14 / 4, 4 / 256, 4 / 14)
    assert [aligned_lines.near(0.0654, text) for text in ("0.065", "0.07", "0.066")] == [True, True, False]


def test_kinds_of_tokens_are_compared_with_the_original_s(tmp_path: Path) -> None:
    (tmp_path / "src/tokka_bench").mkdir(parents=True)
    (tmp_path / "src/tokka_bench/unicode_utils.py").write_text(
        "def get_unicode_scripts(text):\n    return {'Latin'} if text.strip() else set()\n"
        "def starts_with_space(text):\n    return text[:1] == ' '\n"
        "def has_whitespace_in_middle(text):\n    return False\n"
    )
    module = token_kinds.originals(tmp_path)
    assert token_kinds.differences(module, b" a") == []
    assert token_kinds.differences(module, b"1 a") == ["inner space", "several kinds", "numbers"]
    apart = [token_kinds.why_apart(data) for data in (b"a", b"\xe4", "ท".encode(), "ก".encode())]
    assert apart == ["", token_kinds.PARTS, token_kinds.HAN, ""]
    with pytest.raises(SystemExit):
        token_kinds.originals(tmp_path / "nowhere")
