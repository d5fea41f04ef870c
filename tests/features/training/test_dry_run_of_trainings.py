"""Dry runs of rows that are trained: what is lacking is said, and nothing is trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cases.command_line import call
from pyharness import suite, tokenizers
from pyharness.benchmarks import STARTED_IN
from pyharness.commands import dry_run
from pyharness.running import run_record
from pyharness.running.schedule import Schedule
from pyharness.suite import plans

ROW = "trained:bpe?vocab_size=300&corpus=sample:prose"


@pytest.fixture
def quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes start as quickly as where the rates were taken."""
    monkeypatch.setattr(dry_run, "seconds_to_start", lambda: STARTED_IN)


def test_a_training_is_named_and_its_cases_counted(tmp_path: Path) -> None:
    rows = ("-t", "raw_bytes", "-t", f"own={ROW}")
    chosen = ("-c", "sample:prose", "--max-bytes", "4kB", "-b", "compression", "-b", "load", "--dry-run", "--json")
    done = call("run", *rows, *chosen, cwd=tmp_path, PYHARNESS_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr, [*tmp_path.iterdir()]) == (0, "", [])
    foretold = json.loads(done.stdout)
    assert foretold["tokenizers"][1] == {"tokenizer": "own", "spec": ROW, "lacking": "training"}
    cases = {one["benchmark"]: one["cases"] for one in foretold["cases"]}
    assert cases == {"integrity": 2, "compression": 2, "load": 2}


@pytest.mark.usefixtures("quick_start")
def test_what_nobody_can_foretell_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = suite.declare([ROW, "raw_bytes"], ["sample:prose"], ["training", "compression"])
    monkeypatch.setenv("PYHARNESS_CACHE", "/nowhere")
    run = dry_run.foresee(declared)
    assert run.estimate.without.keys() == {"training"}
    *_, said, more = dry_run.sheets(run)[0].notes
    assert "add cases" in more
    assert ": training of 1 tokenizer, " in said
    assert "cases of training" in said


def test_rows_are_described_and_not_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An engine says whether it can run a row once there is one: until then the row stands as it is."""
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    declared = suite.declare([ROW, f"native+{ROW}"], ["sample:prose"], ["compression"])
    problems: list[str] = []
    rows = plans.resolved(declared, problems)
    assert (list(rows), problems) == ([ROW, f"native+{ROW}"], [])
    assert not (tmp_path / "cache").exists()
    plan = suite.plan(declared, obtain=False)
    assert run_record.header(plan, Schedule.of(plan))["files"] == {}
    tokenizers.obtain(ROW)
    assert tokenizers.lacking(ROW) == tokenizers.lacking(f"native+{ROW}") == ""
    assert plans.resolved(declared, problems)[f"native+{ROW}"].vocabulary
    plans.resolved(suite.declare([f"nativ+{ROW}"], ["sample:prose"], ["compression"]), problems)
    assert problems == ["unknown tokenizer engine 'nativ'; did you mean 'native'?"]


@pytest.mark.usefixtures("quick_start")
def test_what_a_benchmark_loads_beside_its_row_is_not_trained_either(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    row = ROW.replace("bpe", "scaffold-bpe", 1)
    run = dry_run.foresee(suite.declare([row], ["sample:prose"], ["replaced_tokens"]))
    assert not (tmp_path / "cache").exists()
    assert [(one.tokenizer.partition("?")[0], one.lacking) for one in run.tokenizers] == [
        ("trained:scaffold-bpe", "training"),
        ("trained:bpe", "training"),
    ]
