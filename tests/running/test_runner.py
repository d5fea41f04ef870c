"""Runs: verification, crashes and hangs cost their case, records are deterministic."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pyharness
from cases.measured_rows import deterministic
from pyharness import store, suite
from pyharness.commands import session
from pyharness.running import run_record, runner
from pyharness.running.schedule import UNVERIFIED, Schedule
from pyharness.types import CaseResult, InputError

pytestmark = pytest.mark.usefixtures("doubles")


def results_of(result: session.Result, row: str) -> dict[str, CaseResult]:
    return {one.case.benchmark: one for one in result.record.results if one.case.tokenizer == row}


def measure(rows: list[str], benchmarks: list[Any], corpus: str = "sample:code", **other: Any) -> session.Result:
    return pyharness.run(tokenizers=rows, corpora=[corpus], benchmarks=benchmarks, **other)


def test_wrong_ids_fail_the_row_with_the_first_difference_and_no_speed() -> None:
    run = measure(["same", "wrong"], ["compression", "throughput", "latency", "load"])
    wrong = results_of(run, "wrong")
    assert {one.status for one in wrong.values()} == {"failed"}
    assert not any(one.measurements for one in wrong.values())
    difference = wrong["integrity"].details["identical_ids"]["difference"]
    assert (difference["document"], difference["token"], difference["byte_offset"]) == (0, 40, 40)
    assert "wrong ids: document 1, byte 40" in str(wrong["integrity"].reason)
    assert wrong["throughput"].reason == UNVERIFIED
    assert "failed" not in {one.status for one in results_of(run, "same").values()}


def test_the_home_row_is_what_the_others_are_compared_with() -> None:
    run = measure(["wrong", "same", "home"], ["integrity"])
    rows = run.record.data["tokenizers"]
    assert [one.case.tokenizer for one in run.record.results] == ["wrong", "same", "home"], "in the order given"
    assert {label: rows[label]["compared_with"] for label in rows} == {
        "wrong": "home",
        "same": "home",
        "home": None,
    }
    assert results_of(run, "same")["integrity"].details["identical_ids"]["difference"] is None


@pytest.mark.parametrize("row", ["lying", "mute"])
def test_what_was_timed_is_what_is_checked(row: str) -> None:
    results = results_of(measure([row], [{"name": "throughput", "threads": [1]}]), row)
    assert results["integrity"].status == "ok"
    assert results["throughput"].status == "failed"
    assert "the timed" in str(results["throughput"].reason)
    assert not results["throughput"].measurements


def test_a_timed_single_call_is_checked_too() -> None:
    results = results_of(measure(["lying"], ["latency"], corpus="installed:python-docs?max_bytes=2MB"), "lying")
    assert "wrong ids: " in str(results["latency"].reason)
    assert "single call" in str(results["latency"].reason)


def test_without_a_home_to_compare_with_there_is_no_number() -> None:
    results = results_of(measure(["permuted", "undecodable"], ["throughput", "load"]), "permuted")
    assert "'undecodable'" in str(results["integrity"].reason)
    assert {one.status for one in results.values()} == {"failed"}


def test_rows_that_are_compared_read_the_same_text() -> None:
    run = measure(
        ["home", "same"],
        [
            {"name": "compression", "tokenizers": ["home"]},
            {"name": "throughput", "tokenizers": ["same"], "bytes": 100_000},
        ],
    )
    assert "failed" not in {one.status for one in run.record.results}


def test_wrong_ids_on_one_text_leave_no_number_on_any_other() -> None:
    run = pyharness.run(
        tokenizers=["home", "wrong-on-prose"],
        corpora=["sample:prose", "sample:numbers"],
        benchmarks=["throughput", "load"],
    )
    states = {
        (one.case.benchmark, one.case.corpus): one.status
        for one in run.record.results
        if one.case.tokenizer == "wrong-on-prose" and one.case.benchmark != "integrity"
    }
    assert set(states.values()) == {"failed"}
    assert len(states) >= 3


def test_a_tokenizer_that_loses_text_against_its_word_fails_with_a_witness() -> None:
    results = results_of(measure(["forgetful"], ["compression"]), "forgetful")
    assert results["integrity"].status == "failed"
    assert "not lossless" in str(results["integrity"].reason)
    assert results["compression"].status == "failed"


@pytest.mark.parametrize(
    ("row", "reason"), [("aborting", "killed by signal 6"), ("panicking", "Panic: index out of bounds")]
)
def test_a_crash_costs_its_case_alone(row: str, reason: str) -> None:
    run = measure([row, "raw_bytes"], ["integrity"])
    assert reason in str(results_of(run, row)["integrity"].reason)
    assert results_of(run, "raw_bytes")["integrity"].status == "ok"


def test_a_hang_is_ended_at_the_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'tokenizers = ["hanging", "raw_bytes"]\ncorpora = ["sample:prose"]\nbenchmarks = ["integrity"]\n'
        "time_limit_seconds = 2\n",
        encoding="utf-8",
    )
    run = pyharness.run(suite_name=path)
    assert "time limit of 2 s" in str(results_of(run, "hanging")["integrity"].reason)
    assert results_of(run, "raw_bytes")["integrity"].status == "ok"


def test_the_time_limit_holds_while_a_case_reports_progress(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'tokenizers = ["raw_bytes"]\ncorpora = ["repeat:1000000:sample:prose"]\nbenchmarks = ["compression"]\n'
        "time_limit_seconds = 3\n",
        encoding="utf-8",
    )
    start_time = time.monotonic()
    results = results_of(pyharness.run(suite_name=path), "raw_bytes")
    assert "time limit of 3 s" in str(results["compression"].reason)
    assert time.monotonic() - start_time < 30


def test_a_library_that_prints_does_not_break_the_protocol() -> None:
    assert results_of(measure(["chatty"], ["integrity"]), "chatty")["integrity"].status == "ok"


def test_the_record_follows_its_schema_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    run = measure(
        ["raw_bytes", "wrong", "home"],
        ["compression", "fairness", "reachability", "throughput", "latency", "load"],
        corpus="sample",
        output=path,
    )
    schema = json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema)
    again = pyharness.read(path)
    assert again.record.results == run.record.results
    assert not list(tmp_path.glob("*.journal"))
    frame = again.to_dataframe()
    assert {"bytes_per_token", "parity", "encode_bytes_per_second", "latency_p50", "load_seconds"} <= set(
        frame.metric.dropna()
    )
    value = frame[(frame.metric == "bytes_per_token") & (frame.tokenizer == "raw_bytes")].value
    assert value.tolist() == [1.0]
    assert set(frame.metric.dropna()) <= set(run.record.data["metrics"])


def test_two_runs_give_byte_identical_deterministic_metrics() -> None:
    chosen = ["compression", "fairness", "reachability", "integrity"]
    first, second = (measure(["raw_bytes"], chosen, corpus="sample") for _ in range(2))
    assert deterministic(first.record) == deterministic(second.record)
    assert len(deterministic(first.record)) > 1000


def test_text_that_changed_is_noticed_without_a_compression_case(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"line {n}\n" for n in range(1000)), encoding="utf-8")
    chosen = suite.declare(["raw_bytes"], [f"path:{text}?split=line"], ["throughput"])
    plan, output = suite.plan(chosen), tmp_path / "r" / "record.json"
    record = runner.run(plan, store.Journal(tmp_path / "first.json"), session.SilentListener())
    tally = record.data["corpora"][f"path:{text}?split=line"]
    assert tally["tally"]["documents"] == 1000
    assert not tally["whole"]
    journal = store.Journal(output)
    journal.start(run_record.header(plan, Schedule.of(plan)), resume=False)
    journal.add({"result": store.result_as_json(record.of("integrity")[0]), "facts": None})
    journal.close()
    text.write_text("".join(f"line {n + 1}\n" for n in range(1000)), encoding="utf-8")
    with pytest.raises(InputError, match=rf"cannot resume: corpus '{re.escape(f'path:{text}')}.*digests differ"):
        runner.run(plan, store.Journal(output), session.SilentListener(), resume=True)


@pytest.mark.data
def test_an_engine_that_differs_on_one_real_file_is_caught(data: Path) -> None:
    pytest.importorskip("tokie")
    home = f"file:{data}/tokenizers/qwen2_5/tokenizer.json"
    text = f"path:{data}/corpora/code/python.jsonl.xz?max_bytes=1MB"
    run = measure([home, f"tokie+{home}"], ["throughput"], corpus=text)
    row = results_of(run, f"tokie+{home}")
    assert {one.status for one in row.values()} == {"failed"}
    difference = row["integrity"].details["identical_ids"]["difference"]
    assert difference["document"] == 33
    assert difference["expected_ids"] != difference["got_ids"]
    assert not any(one.measurements for one in row.values())
    assert results_of(run, home)["throughput"].status == "ok"
