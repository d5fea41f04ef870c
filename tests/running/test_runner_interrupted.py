"""Runs that are killed, interrupted or told to end: resumed to the same bits, nothing lost, no orphans."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

import pyharness
from cases.measured_rows import deterministic
from pyharness import store, suite
from pyharness.commands import session
from pyharness.running import run_record, runner
from pyharness.running.schedule import Schedule
from pyharness.types import CaseResult, InputError

SLOW = [
    "run",
    "-t",
    "raw_bytes",
    "-t",
    "slow",
    "-c",
    "sample:prose",
    "-c",
    "sample:code",
    "-b",
    "compression",
]

pytestmark = pytest.mark.usefixtures("doubles")


def start(tmp_path: Path, *arguments: str, seconds: str = "30", row: str = "slow") -> subprocess.Popen[str]:
    environment = os.environ | {"DOUBLES_MARKER": str(tmp_path / "begun"), "DOUBLES_SECONDS": seconds}
    chosen = [row if word == "slow" else word for word in SLOW]
    command = [sys.executable, "-P", "-m", "pyharness", *chosen, "-o", str(tmp_path / "record.json"), *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_for(tmp_path / "begun")
    process.kill()
    process.communicate()
    assert not (tmp_path / "record.json").exists()
    journal = (tmp_path / "record.json.journal").read_text(encoding="utf-8").splitlines()
    assert len(journal) > 1, "raw_bytes was measured before the kill"
    refused = start(tmp_path, seconds="0")
    assert "--resume" in refused.communicate()[1]
    assert refused.returncode == 2
    resumed = start(tmp_path, "--resume", seconds="0")
    _, log = resumed.communicate()
    assert resumed.returncode == 0, log
    (tmp_path / "whole").mkdir()
    whole = start(tmp_path / "whole", seconds="0")
    whole.communicate()
    records = [store.read(folder / "record.json") for folder in (tmp_path, tmp_path / "whole")]
    assert deterministic(records[0]) == deterministic(records[1])
    assert records[0].data["complete"]


def test_resuming_on_other_text_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one text\n", encoding="utf-8")
    plan = suite.plan(suite.declare(["raw_bytes"], [f"path:{text}"], ["compression"]))
    output = tmp_path / "r" / "record.json"
    journal = store.Journal(output)

    assert journal.start(run_record.header(plan, Schedule.of(plan)), resume=False) == []
    run = pyharness.run(tokenizers=["raw_bytes"], corpora=[f"path:{text}"], benchmarks=["compression"])
    journal.add({"result": store.result_as_json(run.record.of("compression")[0]), "facts": None})
    journal.close()
    text.write_text("other text\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"cannot resume: corpus '{re.escape(f'path:{text}')}.*digests differ"):
        runner.run(plan, store.Journal(output), session.SilentListener(), resume=True)


def test_interrupting_leaves_a_valid_partial_record(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_for(tmp_path / "begun")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    record = store.read(tmp_path / "record.json")
    schema = json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.validate(record.data, schema)
    assert not record.data["complete"]
    states = {one.case.tokenizer: one.status for one in record.of("compression")}
    assert states == {"raw_bytes": "ok", "slow": "skipped"}
    assert (tmp_path / "record.json.journal").exists()


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_tidies_up_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: signal.Signals
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    before = signal.signal(kind, signal.SIG_DFL)  # under nohup it is ignored, and would be by the run
    process = start(tmp_path)
    signal.signal(kind, before)
    wait_for(tmp_path / "begun")
    assert list((tmp_path / "tmp").iterdir())
    process.send_signal(kind)
    said = process.communicate()[1]
    assert process.returncode == 128 + kind
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"ended by {kind.name}; go on with: pyharness run ")
    assert not list((tmp_path / "tmp").iterdir())
    assert not store.read(tmp_path / "record.json").data["complete"]
    resumed = start(tmp_path, "--resume", seconds="0")
    assert (resumed.communicate(), resumed.returncode)[1] == 0
    assert store.read(tmp_path / "record.json").data["complete"]


def test_a_finished_record_is_never_lost(tmp_path: Path) -> None:
    """Another run, or another hand, makes the file while this one measures: it stays, and so does what was measured."""
    plan = suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["load"]))
    output = tmp_path / "record.json"

    class Other(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            output.write_text("another's", encoding="utf-8")

    with pytest.raises(InputError, match=r"record\.json' exists already.*\bjournal\b.*--resume --force"):
        runner.run(plan, store.Journal(output), Other())
    assert output.read_text(encoding="utf-8") == "another's"
    record = runner.run(plan, store.Journal(output, overwrite=True, resume=True), session.SilentListener(), resume=True)
    assert record.data["complete"]
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_an_interrupted_run_does_not_replace_a_whole_record(tmp_path: Path) -> None:
    plan = suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["load"]))
    output = tmp_path / "record.json"
    plan_with_state = suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["compression"]))
    whole = runner.run(plan_with_state, store.Journal(output), session.SilentListener())
    with whole.state() as states:
        cases = set(states.cases)
    assert cases

    class Impatient(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan, store.Journal(output, overwrite=True), Impatient())
    assert store.read(output).data == whole.data
    with store.read(output).state() as states:
        assert set(states.cases) == cases
    assert (tmp_path / "record.json.journal").exists()


def test_a_record_into_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    plan = suite.plan(suite.declare(["raw_bytes"], ["sample:prose"], ["load"]))
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text, encoding="utf-8")
        record = runner.run(plan, store.Journal(tmp_path / "pipe"), session.SilentListener())
        assert json.loads(read.result(timeout=10)) == json.loads(store.dump(record.data))
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("row", ["slow", "stuck"])
def test_killing_a_run_leaves_no_orphans(tmp_path: Path, row: str) -> None:
    process = start(tmp_path, row=row)
    wait_for(tmp_path / "begun")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
