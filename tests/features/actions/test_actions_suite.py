"""The suite of actions: every codec is measured on its robot's other clips, in its own chunks."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from pyharness import run, suite
from pyharness.features.actions.motions import made_clips
from pyharness.plugins.specification import TOKENIZER


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of data with made motions in the place of the robots', 8 and 15 clips as there."""
    folder = tmp_path / "corpora" / "actions"
    folder.mkdir(parents=True)
    made = [*made_clips(8, 19), *made_clips(15, 44)]
    lines = "".join(json.dumps({"id": name, "frames": frames}) + "\n" for name, frames in made)
    (folder / "motion_clips.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    monkeypatch.setenv("PYHARNESS_DATA", str(tmp_path))
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_rows_are_measured_on_clips_of_their_robot_that_they_were_not_fitted_to(data: Path) -> None:
    plan = suite.plan(suite.read(suite.find("actions")))
    assert len(plan.cases) == 20
    texts = {entry.label: entry.spec for entry in plan.suite.corpora}
    for case in plan.cases:
        row = TOKENIZER.parse(plan.tokenizers[case.tokenizer].name)
        assert case.corpus is not None
        assert case.tokenizer.startswith(f"{case.corpus}: ")
        learnt, measured = row.options["corpus"], texts[case.corpus]
        assert learnt.split(":", 2)[2] == measured.split(":", 2)[2]
        assert learnt != measured
        assert str(data) in learnt


def test_ours_loses_nothing_on_any_robot(data: Path) -> None:
    del data
    declared = suite.read(suite.find("actions"))
    rows = {entry.label: entry.spec for entry in declared.tokenizers if entry.label.endswith(" 32: fast, scale 10")}
    corpora = {entry.label: entry.spec for entry in declared.corpora if entry.label.endswith(" 32")}
    assert len(rows) == len(corpora) == 2
    for row, text in zip(rows.values(), corpora.values(), strict=True):
        (found,) = run(tokenizers=[row], corpora=[text], benchmarks=["actions"]).record.results
        assert found.status == "ok", found.reason
        values = {one.metric: one for one in found.measurements if one.part is None}
        assert values["unfaithful_chunk_share"].value == 0
        assert values["tokens_per_chunk"].replicates, "an interval over clips"
