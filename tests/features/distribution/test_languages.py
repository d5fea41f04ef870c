"""Languages of aligned text: uses of ids by a slow reference, figures of TokEval, levels and scripts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from pyharness.features.distribution.languages import LanguageUse, ScriptCounts, lorenz, read_levels
from pyharness.metrics.fairness import FairnessState, gini
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import InputError, Tokens

# TokEval of 2026, compute_lorenz_curve_data with costs by line: GPT-2 on 64 aligned lines of six languages.
COSTS = [768, 1543, 2154, 4400, 5209, 5699]
CURVE = [0.0, 0.03884084357457138, 0.11687654882921156, 0.22581297729226724, 0.4483386436049158, 0.7117786881100491, 1]


def test_the_lorenz_curve_of_tokeval() -> None:
    for place, share in enumerate(CURVE):
        assert lorenz(np.array(COSTS), place / 6) == pytest.approx(share, rel=1e-14)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8))
def test_the_area_above_the_curve_is_the_gini(costs: list[int]) -> None:
    values = np.array(costs)
    curve = [lorenz(values, place / len(costs)) for place in range(len(costs) + 1)]
    assert 1 - 2 * float(np.trapezoid(curve, dx=1 / len(costs))) == pytest.approx(gini(values), abs=1e-12)


ROWS = st.lists(
    st.tuples(st.integers(0, GROUPS - 1), st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=2, max_size=2)),
    min_size=1, max_size=6,
)  # fmt: skip


@given(ROWS, st.integers(0, GROUPS - 1))
def test_uses_without_a_group_agree_with_a_slow_reference(rows: list[tuple[int, list[list[int]]]], out: int) -> None:
    costs = FairnessState.empty(("a", "b"), "a")
    use = LanguageUse(costs, np.zeros((2, 6), np.uint32), 6, np.ones(6, np.bool_), ("LATIN", "GREEK"))
    use.mark(Tokens.from_lists([text for _, texts in rows for text in texts]), [group for group, _ in rows])
    again = LanguageUse.of_arrays(use.arrays())
    kept = np.arange(GROUPS) != out
    for language in range(2):
        expected = {one for group, texts in rows if group != out for one in texts[language]}
        assert set(np.flatnonzero(again.used(kept)[language]).tolist()) == expected
    assert (again.scripts, again.learned.tolist()) == (use.scripts, use.learned.tolist())


def test_scripts_are_those_of_most_letters() -> None:
    for text, script in (("Über 12", "LATIN"), ("なのに漢", "HIRAGANA"), ("γη", "GREEK"), ("123", "UNKNOWN")):
        counts = ScriptCounts()
        counts.add(text)
        assert counts.script == script


def aligned(folder: Path) -> str:
    for name, word in (("en", "more words"), ("el", "λέξη"), ("de", "Wort")):
        text = "".join(f"{word} {place}\n" for place in range(80))
        (folder / "texts").mkdir(exist_ok=True)
        (folder / "texts" / f"{name}.txt").write_text(text, encoding="utf-8")
    return "parallel:texts?reference=en"


def test_a_run_groups_languages_by_script_and_level(tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text('[levels]\nen = 5\nel = "low"\n')
    text = aligned(tmp_path)
    done = call(
        "run", "-t", "raw_bytes", "-c", text, "-b", "languages?levels=levels.toml", "-o", "r.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "3 languages" in done.stdout
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    (case,) = (one for one in results if one["benchmark"] == "languages")
    parts = {(one["metric"], one.get("part")) for one in case["measurements"]}
    assert {("script_parity", "GREEK"), ("script_parity", "LATIN"), ("level_parity", "5")} <= parts
    assert case["details"]["without a level"] == ["de"]
    values = {one["metric"]: one["value"] for one in case["measurements"] if not one.get("part")}
    assert values["languages_per_token"] is None  # bytes learn nothing
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("text", ["", "levels = 3", "[levels]\nen = true\n", "[levels]\nen = [1]\n", "[levels"])
def test_a_table_without_levels_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text(text)
    with pytest.raises(InputError, match="levels"):
        read_levels(str(tmp_path / "levels.toml"))
    assert refused(
        "run", "-t", "raw_bytes", "-c", aligned(tmp_path), "-b", "languages?levels=absent.toml", cwd=tmp_path
    )


def test_the_suite_papers_has_eight_rows_and_four_texts() -> None:
    from pyharness.suite import files

    suite = files.read(files.shipped()["papers"])
    assert (len(suite.tokenizers), len(suite.corpora)) == (8, 4)
    assert not any("${" in entry.spec or "hf:" in entry.spec for entry in (*suite.tokenizers, *suite.corpora))
