"""What ``profile -o`` writes is read back: the same tables, comparable rows, flat rows; older files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyharness import store
from pyharness.cli import main
from pyharness.features.profiling import cases, cpu, session
from pyharness.statistics.samples import StoppingRule
from pyharness.types import InputError

RULE = StoppingRule(min_samples=8, min_seconds=0.0, max_noise=1e9)


def call(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The record of a profile, and what the command printed."""
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "RULES", {"cpu": RULE, "cuda": RULE})
        patch.setattr(cpu, "COPY_BYTES", 1 << 20)
        options = ("--device", "cpu", "--shape", "3000x50", "--threads", "1", "-o", str(path))
        return path, call("profile", "pair_histogram", *options)


def test_report_shows_what_profile_printed(written: tuple[Path, str]) -> None:
    path, printed = written
    assert call("report", str(path)) == printed
    assert "<table>" in call("report", str(path), "--format", "html")


def test_a_profile_is_read_back(written: tuple[Path, str]) -> None:
    record = store.read(written[0])
    profile = cases.of_record(record.data, record.results)
    assert cases.results(profile) == list(record.results)
    assert json.loads(json.dumps(cases.header(profile)["profile"])) == record.data["profile"]


def test_flat_rows_hold_every_number(written: tuple[Path, str]) -> None:
    rows = json.loads(call("report", str(written[0]), "--format", "json"))
    (ours,) = (row for row in rows if row["metric"] == "call_seconds" and row["tokenizer"] == "pyharness")
    assert 0 < ours["low"] <= ours["value"] <= ours["high"]
    assert json.loads(ours["parameters"])["shape"] == "3000x50"


def test_implementations_of_one_profile_are_compared_round_by_round(written: tuple[Path, str]) -> None:
    record = store.read(written[0])
    (other, *_) = (one.case.tokenizer for one in record.results if one.status == "ok" and one.case.tokenizer != "copy"
                   and one.case.tokenizer != "pyharness")  # fmt: skip
    rows = json.loads(call("compare", str(written[0]), "pyharness", other, "--format", "json"))
    by_metric = {row["metric"]: row for row in rows}
    assert by_metric["call_seconds"]["low"] <= by_metric["call_seconds"]["high"]
    assert by_metric["call_seconds"]["verdict"] in ("better", "worse", "not significant")
    assert by_metric["floor_bytes"]["verdict"] == "same"


def test_two_profiles_are_compared_without_a_verdict_on_time(written: tuple[Path, str]) -> None:
    path = written[0]
    other = path.with_name("other.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    for one in data["results"]:
        for measurement in one["measurements"]:
            if measurement["metric"] == "call_seconds":
                measurement["value"] *= 2
    other.write_text(store.dump(data), encoding="utf-8")
    rows = json.loads(call("compare", str(path), str(other), "--format", "json"))
    timings = [row for row in rows if row["metric"] == "call_seconds"]
    assert timings
    assert {row["verdict"] for row in timings} == {""}
    assert all(row["difference"] == row["a"] for row in timings)


def test_a_profile_of_an_older_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    old = {"kind": "pyharness-profile", "schema": 1, "kernel": "entropy", "problems": []}
    path.write_text(json.dumps(old), encoding="utf-8")
    with pytest.raises(InputError, match=r"old\.json.*pyharness profile entropy -o"):
        store.read(path)


@pytest.mark.parametrize("key", ["kernel", "matrix", "problems", "not_measured", "stopping_rule"])
def test_a_profile_that_was_edited_is_refused(written: tuple[Path, str], tmp_path: Path, key: str) -> None:
    data = json.loads(written[0].read_text(encoding="utf-8"))
    data["profile"][key] = 3
    path = tmp_path / "edited.json"
    path.write_text(store.dump(data), encoding="utf-8")
    done = CliRunner().invoke(main, ["report", str(path)], catch_exceptions=False)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
