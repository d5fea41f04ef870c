"""The study of Scaffold-BPE: its counts against the oracle, its claims, and a run on a small text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from oracles import bpe as bpe_oracle
from oracles import scaffold as scaffold_oracle
from pyharness import bpe
from pyharness.statistics.jackknife import GROUPS

STUDIES = Path(__file__).parents[1]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(STUDIES))
    import scaffold_study

    return scaffold_study


def test_tokens_are_counted_as_the_oracle_counts_them(study: ModuleType) -> None:
    words = {b"scaffold": 9, b"scaffolds": 4, b"old": 3, b"fold": 5, b"cold": 2, b"aaaa": 3, b"folded": 2}
    pieces = bpe.WeightedPieces.of_bytes(words)
    counts = np.zeros((GROUPS, len(words)), np.uint64)
    counts[3] = list(words.values())
    counts[7, 0] = 2
    sizes = {"documents": np.ones(GROUPS, np.int64), "bytes": np.ones(GROUPS, np.int64)}
    for scaffold in (False, True):
        trained = bpe.train(pieces, 264, scaffold=scaffold)
        if scaffold:
            model = scaffold_oracle.train(words, 264)
            encoded = {word: scaffold_oracle.encode(model, word) for word in words}
            assert model.scaffold, "the text has scaffold tokens"
        else:
            _, rules = bpe_oracle.train(words, 264)
            encoded = {word: bpe_oracle.encode(list(word), rules) for word in words}
        state = study.Encoded.of(trained, pieces).state(counts, sizes)
        expected = Counter[int]()
        for word, weight in words.items():
            expected.update({token: count * weight for token, count in Counter(encoded[word]).items()})
        assert {int(t): int(state.histogram[3, t]) for t in np.flatnonzero(state.histogram[3])} == expected
        assert state.histogram[7].sum() == 2 * len(encoded[b"scaffold"]) == state.counters["tokens"][7]


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((0.1, 0.2), "confirmed"),
        ((-0.2, -0.1), "refuted"),
        ((-0.1, 0.2), "not resolved: interval includes 0"),
        ((0.0, 0.2), "not resolved: interval includes 0"),
        (None, "not resolved: no interval"),
    ],
)
def test_verdicts(study: ModuleType, interval: tuple[float, float] | None, expected: str) -> None:
    assert study.Claim("x", +1, None, None).verdict(interval, []) == expected
    mirrored = None if interval is None else (-interval[1], -interval[0])
    assert study.Claim("x", -1, None, None).verdict(mirrored, []) == expected


def test_a_claim_on_what_grows_needs_one_sign_on_all_parts_of_the_text(study: ModuleType) -> None:
    claim = study.Claim("x", +1, None, None)
    assert claim.verdict((0.1, 0.2), [0.3, 0.2, 0.1, 0.1]) == "confirmed"
    assert claim.verdict((0.1, 0.2), [-0.1, 0.2, 0.1, 0.1]).endswith("the sign changes with the size of the text")
    assert claim.verdict((-0.2, -0.1), [-0.1, -0.2, -0.3, -0.4]) == "refuted"


def test_a_small_study(tmp_path: Path) -> None:
    command = [sys.executable, str(STUDIES / "scaffold_study.py"), "--output", str(tmp_path / "found")]
    text = tmp_path / "text.txt"
    words = [f"{stem}{end}" for stem in ("scaff", "fold", "mat", "cat", "hold") for end in ("", "er", "ing", "s", "ed")]
    lines = [" ".join(words[(n * k) % 25] for k in range(1, 9)) + f" {n}" for n in range(1200)]
    text.write_text("\n".join([*lines, *lines[:5]]), encoding="utf-8")
    command += ["--texts", f"path:{text}?split=line", "--sizes", "300", "--patterns", "single_digits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["text"]["repeated"] == [5, sum(len(line) for line in lines[:5])]
    assert found["text"]["training"]["documents"] + found["text"]["held_out"]["documents"] == 1200
    (setting,) = found["settings"]
    for part in ("training", "held_out"):
        for name, about in setting[part].items():
            assert about["difference"] == pytest.approx(about["scaffold"] - about["plain"]), name
            for kind in filter(None, (about["documents"], about["retrained"])):
                assert kind[0] <= about["difference"] <= kind[1]
    assert (tmp_path / "found.md").read_text(encoding="utf-8") == done.stdout
    assert "| held-out | redundancy | " in done.stdout
    curves = {name: setting["held_out"][name]["curve"] for name in ("redundancy", "bytes_per_token")}
    assert len(curves["redundancy"]) == 4
    assert curves["redundancy"][-1] == setting["held_out"]["redundancy"]["difference"]
    assert curves["bytes_per_token"] == []


def test_a_study_without_text_says_what_to_do() -> None:
    command = [sys.executable, str(STUDIES / "scaffold_study.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": ""})
    assert done.returncode == 1
    assert "set PYHARNESS_DATA to the folder of data, or give --texts" in done.stderr
