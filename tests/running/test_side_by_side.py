"""Rows side by side, and rows in one process after another: the record is the same, and so is the blame."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyharness
from cases.measured_rows import deterministic
from pyharness import store, suite
from pyharness.commands import session
from pyharness.running import runner
from pyharness.running.workers import process
from pyharness.system.child_process import Child
from pyharness.types import Case, CaseResult, Failure, InputError

pytestmark = pytest.mark.usefixtures("doubles")


def written(folder: Path, rows: list[str], workers: int, benchmarks: str = '["compression"]') -> Path:
    path = folder / f"suite-{workers}.toml"
    path.write_text(
        f'name = "side"\ntokenizers = {json.dumps(rows)}\ncorpora = ["sample:prose", "sample:code"]\n'
        f"benchmarks = {benchmarks}\nworkers = {workers}\n",
        encoding="utf-8",
    )
    return path


def statuses(result: session.Result) -> dict[tuple[str, str, str | None], str]:
    return {(one.case.tokenizer, one.case.benchmark, one.case.corpus): one.status for one in result.record.results}


def test_rows_side_by_side_give_the_same_record(tmp_path: Path) -> None:
    rows = ["wrong", "same", "home", "raw_bytes", "aborting", "forgetful", "permuted", "undecodable"]
    one, two = (pyharness.run(suite_name=written(tmp_path, rows, number)) for number in (1, 2))
    assert deterministic(one.record) == deterministic(two.record)
    assert statuses(one) == statuses(two)
    reasons = [[result.reason for result in run.record.results] for run in (one, two)]
    assert reasons[0] == reasons[1]
    assert statuses(two)["same", "compression", "sample:code"] == "ok"
    assert statuses(two)["wrong", "compression", "sample:code"] == "failed"


def test_what_is_timed_is_alone(tmp_path: Path) -> None:
    """No case is begun or ended while a timed one is on."""
    events: list[tuple[str, Case]] = []

    class Noting(session.SilentListener):
        def started(self, case: Case) -> None:
            events.append(("started", case))

        def finished(self, result: CaseResult) -> None:
            events.append(("finished", result.case))

    chosen = '["compression", "load"]'
    plan = suite.plan(suite.read(written(tmp_path, ["same", "home", "raw_bytes"], 2, chosen)))
    runner.run(plan, store.Journal(tmp_path / "record.json"), Noting())
    timed = [index for index, (what, case) in enumerate(events) if what == "started" and case.benchmark == "load"]
    assert len(timed) == 3
    for index in timed:
        assert events[index + 1] == ("finished", events[index][1])
    assert {case.benchmark for _, case in events[timed[0] :]} == {"load"}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An item for each process that was started."""
    each: list[int] = []

    class Counted(Child):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            each.append(1)
            super().__init__(*arguments, **more)

    monkeypatch.setattr(process, "Child", Counted)
    return each


def test_a_timed_case_has_a_process_of_its_own_unless_it_starts_some(started: list[int]) -> None:
    run = pyharness.run(["same", "raw_bytes", "home"], benchmarks=["load"])
    assert [result.status for result in run.record.results] == ["ok"] * 3
    assert len(started) == 1
    pyharness.run(["raw_bytes"], ["sample:prose"], ["latency", {"name": "throughput", "threads": [1], "bytes": 5000}])
    assert len(started) == 1 + 1 + 2  # the check, and a process for each


def test_a_row_that_dies_in_a_process_that_served_others_gets_one_of_its_own(started: list[int]) -> None:
    run = pyharness.run(["same", "lonely", "aborting"], ["sample:prose"], ["compression"])
    assert statuses(run)["lonely", "compression", "sample:prose"] == "ok"
    assert statuses(run)["aborting", "integrity", "sample:prose"] == "failed"
    assert "killed by signal 6" in str(run.record.of("integrity")[-1].reason)
    # The first serves "same", and dies of "lonely"; the second serves that, and dies of "aborting"; the third of that.
    assert len(started) == 3


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc to count open files in")
def test_a_row_that_fails_in_a_process_that_served_others_gets_one_of_its_own() -> None:
    run = pyharness.run(["greedy", "opening", "forgetful"], ["sample:prose"], ["compression"])
    assert statuses(run)["greedy", "compression", "sample:prose"] == "ok"
    assert statuses(run)["opening", "integrity", "sample:prose"] == "ok"
    assert statuses(run)["opening", "compression", "sample:prose"] == "ok"
    failed = next(one for one in run.record.of("integrity") if one.case.tokenizer == "forgetful")
    assert failed.failure is Failure.WRONG, "its own fault stays"


def test_interrupting_rows_side_by_side_leaves_a_partial_record(tmp_path: Path) -> None:
    path = written(tmp_path, ["raw_bytes", "slow", "same"], 2)
    marker = tmp_path / "begun"
    environment = os.environ | {"DOUBLES_MARKER": str(marker), "DOUBLES_SECONDS": "60"}
    command = [sys.executable, "-P", "-m", "pyharness", "run", str(path), "-o", str(tmp_path / "record.json")]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:  # until all but the slow one is done
        if "compression  same  sample:code" in line:
            break
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said
    record = store.read(tmp_path / "record.json")
    assert not record.data["complete"]
    states = {(one.case.tokenizer, one.status) for one in record.results}
    assert ("slow", "failed") not in states, "what was stopped has no result"
    assert ("slow", "skipped") in states
    assert ("raw_bytes", "ok") in states


@pytest.mark.parametrize("value", ["0", "true", "2.5", '"two"', "257"])
def test_a_wrong_number_of_workers(tmp_path: Path, value: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'tokenizers = ["raw_bytes"]\nbenchmarks = ["load"]\nworkers = {value}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"workers = .* 1 to 256\b"):
        suite.read(path)
