"""Records and journals: whole or not at all, never by two, never of a newer kind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pyharness import store
from pyharness.system import folders
from pyharness.types import InputError

EMPTY: dict[str, Any] = {
    "kind": store.KIND, "schema": store.SCHEMA, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.5,
    "complete": True, "suite": {}, "environment": {}, "tokenizers": {}, "corpora": {}, "metrics": {}, "results": [],
}  # fmt: skip
CASE: dict[str, Any] = {
    "key": "x", "benchmark": "compression", "tokenizer": "a", "corpus": None, "parameters": {}, "status": "ok",
    "reason": None, "measurements": [{"metric": "bytes_per_token", "value": 1.5}], "details": {},
}  # fmt: skip


def test_a_newer_record_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    path.write_text(json.dumps(EMPTY | {"schema": store.SCHEMA + 1}), encoding="utf-8")
    with pytest.raises(InputError, match=rf"new\.json.*schema {store.SCHEMA + 1}\b.* {store.SCHEMA}\b.*upgrade"):
        store.read(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": "other"}', "[" * 100_000, '"\\ud800"'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"odd\.json"):
        store.read(path)
    with pytest.raises(InputError, match="does not exist"):
        store.read(tmp_path / "missing.json")


def test_incomplete_results_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(EMPTY | {"results": [{"benchmark": "x"}]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"cut\.json' .*run record.*'\w+' is missing"):
        store.read(path)


def test_two_runs_cannot_write_one_path(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    first = store.Journal(record)
    with pytest.raises(store.Taken, match=r"record\.json"):
        store.Journal(record)
    first.close()
    store.Journal(record).close()


def test_a_folder_that_cannot_be_written_is_found_out_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write to"):
        store.Journal(tmp_path / "file" / "record.json")
    if Path("/proc/self").exists():  # a folder that even root cannot write to
        with pytest.raises(InputError, match="cannot write to"):
            store.Journal(Path("/proc/self/record.json"))


def test_a_journal_gives_back_whole_lines_only(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    journal = store.Journal(record)
    assert journal.start({"suite": "a"}, resume=False) == []
    journal.add({"n": 1})
    journal.add({"n": 2})
    journal.close()
    assert journal.path is not None
    with journal.path.open("a", encoding="utf-8") as file:
        file.write('{"n": 3')  # killed here
    again = store.Journal(record)
    assert again.start({"suite": "a"}, resume=True) == [{"n": 1}, {"n": 2}]
    again.add({"n": 3})
    again.close()
    lines = journal.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines[1:]] == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_an_unfinished_run_is_not_overwritten_and_not_mixed(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    journal = store.Journal(record)
    journal.start({"suite": "a", "environment": 1}, resume=False)
    journal.add({"n": 1})
    journal.close()
    with pytest.raises(InputError, match=r"record\.json\.journal' .*--resume"):
        store.Journal(record).start({"suite": "a", "environment": 1}, resume=False)
    with pytest.raises(InputError, match=r"record\.json\.journal.*environment was 1\b.* 2\b"):
        store.Journal(record).start({"suite": "a", "environment": 2}, resume=True)


def test_a_record_has_what_a_record_has() -> None:
    assert store.Record.from_json(EMPTY | {"results": [CASE]}, "r").results[0].measurements[0].value == 1.5
    for name in EMPTY.keys() - {"kind", "schema"}:
        for data in ({key: value for key, value in EMPTY.items() if key != name}, EMPTY | {name: None}):
            with pytest.raises(InputError, match=f"^r .*'{name}'"):
                store.Record.from_json(data, "r")


def test_the_reference_of_a_suite_is_a_name() -> None:
    for reference in ("5", "[]", "{}", "true"):
        with pytest.raises(InputError, match="'reference' is"):
            store.Record.from_json(EMPTY | {"suite": {"reference": json.loads(reference)}}, "r")
    assert store.Record.from_json(EMPTY | {"suite": {"reference": None}}, "r").results == ()


@pytest.mark.parametrize("schema", [None, True, 0, -1, "1", 1.0, [1]])
def test_a_schema_is_a_number_from_one(schema: object) -> None:
    with pytest.raises(InputError, match="its schema is"):
        store.Record.from_json(EMPTY | {"schema": schema}, "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmark": 3}, "'benchmark' is 3"),
        ({"tokenizer": None}, "'tokenizer' is null"),
        ({"corpus": []}, "'corpus'"),
        ({"parameters": "x"}, "'parameters'"),
        ({"status": "fine"}, "known: ok, skipped, failed"),
        ({"reason": 1}, "'reason'"),
        ({"measurements": {}}, "'measurements'"),
        ({"measurements": ["x"]}, '"x"'),
        ({"measurements": [{"metric": "m"}]}, "'value' is missing"),
        ({"measurements": [{"metric": "m", "value": True}]}, "'value' is true"),
        ({"measurements": [{"metric": "m", "value": 1, "samples": ["1"]}]}, "'samples'"),
        ({"measurements": [{"metric": "m", "value": 1, "samples": [1, 0], "paired": True}]}, "'samples'.*paired"),
        ({"measurements": [{"metric": "m", "value": 1, "samples": [1, -2.0], "paired": True}]}, "'samples'.*paired"),
        ({"measurements": [{"metric": "m", "value": 1, "replicates": [1.0] * 33}]}, "'replicates'.* 32 groups"),
        ({"details": []}, "'details'"),
        ({"details": {"tally": {"documents": 1}}}, "'bytes' is missing"),
    ],
)
def test_a_result_has_what_a_result_has(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"^r .*result 2\b.*{message}"):
        store.Record.from_json(EMPTY | {"results": [CASE, CASE | change]}, "r")


def test_a_case_and_a_measurement_are_there_once() -> None:
    """The first of two would be shown, whichever of them is true."""
    one = CASE["measurements"][0]
    twice = CASE | {"measurements": [one, one | {"value": 99.0}]}
    with pytest.raises(InputError, match='"bytes_per_token" is measured twice'):
        store.Record.from_json(EMPTY | {"results": [twice]}, "r")
    parts = CASE | {"measurements": [one | {"part": "a"}, one | {"part": "b"}]}
    assert len(store.Record.from_json(EMPTY | {"results": [parts]}, "r").results[0].measurements) == 2
    with pytest.raises(InputError, match=r'case "compression \| a" occurs twice'):
        store.Record.from_json(EMPTY | {"results": [CASE, CASE | {"measurements": []}]}, "r")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1e200", "9" * 5000, "1" + "0" * 400])
def test_numbers_are_finite(tmp_path: Path, number: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(EMPTY | {"results": [CASE]}).replace("1.5}]", f"{number}}}]"), encoding="utf-8")
    with pytest.raises(InputError, match=r"odd\.json"):
        store.read(path)


def test_what_a_record_cannot_hold_is_said_and_file_names_can_be_held() -> None:
    for value, name in ((float("nan"), "nan"), (float("inf"), "inf"), (b"x", "bytes"), ({1, 2}, "set")):
        with pytest.raises(InputError, match=rf"record.*\b{name}\b"):
            store.dump(EMPTY | {"suite": {"x": value}})
    data = EMPTY | {"suite": {"name": "file:\udcff"}}
    text = store.dump(data)
    assert json.loads(text.encode()) == data


def test_an_output_that_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path(), Path(".."), Path("/")):
        for overwrite in (False, True):
            with pytest.raises(InputError, match=r"folder.*--output"):
                store.Journal(folder, overwrite=overwrite)
    with pytest.raises(InputError, match="cannot write to"):
        store.Journal(tmp_path / ("x" * 245))
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(InputError, match=r"cannot write .*circle': Too many levels"):
        store.Journal(tmp_path / "circle")
    assert [file.name for file in tmp_path.iterdir()] == ["circle"]


def test_an_output_that_exists_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text("mine", encoding="utf-8")
    with pytest.raises(store.Taken, match=r"record\.json' exists\b.*--force"):
        store.Journal(record)
    with pytest.raises(store.Taken, match=r"record\.json' exists\b.*resume.*--force"):
        store.Journal(record, resume=True)
    (tmp_path / "record.json.journal").touch()
    with pytest.raises(store.Taken, match="exists already"):  # an empty journal is no unfinished run
        store.Journal(record)
    with store.Journal(record, overwrite=True) as journal:
        journal.start({"suite": "a"}, resume=False)
        journal.add({"n": 1})
    with store.Journal(record, resume=True) as journal:
        assert journal.begun
    assert record.read_text(encoding="utf-8") == "mine"


def test_a_claim_that_came_to_nothing_leaves_nothing(tmp_path: Path) -> None:
    with store.Journal(tmp_path / "new" / "folder" / "record.json"):
        assert (tmp_path / "new" / "folder" / "record.json.journal").exists()
    assert not list(tmp_path.iterdir())
    with store.Journal(tmp_path / "record.json") as journal:
        journal.start({"suite": "a"}, resume=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("resume", [False, True])
def test_nothing_is_left_after_a_run_that_was_killed_before_its_first_case(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "record.json.journal").write_text('{"header": {"suite": "a"}}\n', encoding="utf-8")
    with store.Journal(tmp_path / "record.json", resume=resume) as journal:
        assert journal.start({"suite": "a"}, resume=resume) == []
        assert not journal.resumable
    assert not list(tmp_path.iterdir())


def test_names_of_one_second_differ(tmp_path: Path) -> None:
    claims = [store.Journal.of_a_new_name(tmp_path, "a-20260101-000000") for _ in range(3)]
    claims[1].start({"suite": "a"}, resume=False)
    claims[1].add({"n": 1})
    for claim in claims:
        claim.close()
    (tmp_path / "a-20260101-000000.json").write_text("a record", encoding="utf-8")
    claims.append(store.Journal.of_a_new_name(tmp_path, "a-20260101-000000"))
    claims[-1].close()
    names = [claim.record.name.removeprefix("a-20260101-000000") for claim in claims]
    assert names == [".json", "-2.json", "-3.json", "-3.json"]


def test_a_lock_on_a_journal_that_is_gone_is_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends removes its journal: who had opened that file in between must not take it for the one there."""
    first = store.Journal(tmp_path / "record.json")
    first.start({"suite": "a"}, resume=False)
    locking = fcntl.flock

    def late(file: Any, how: int) -> None:
        if how & fcntl.LOCK_EX and not first.file.closed:
            first.remove()
        locking(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with store.Journal(tmp_path / "record.json") as second:
        with pytest.raises(store.Taken, match=r"writing .*record\.json"):
            store.Journal(tmp_path / "record.json")
        assert second.path is not None
        assert second.path.stat().st_ino == os.fstat(second.file.fileno()).st_ino


def test_a_folder_of_a_run_that_was_killed_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = (
        "import os, signal, pathlib\nfrom pyharness.system import folders\n"
        "with folders.scratch() as folder:\n"
        "    (folder / 'ids.npz').write_text('x')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command, environment = [sys.executable, "-P", "-c", script], os.environ | {"TMPDIR": str(tmp_path)}
    assert subprocess.run(command, check=False, env=environment).returncode == -signal.SIGKILL
    (killed,) = tmp_path.iterdir()
    for name in ("pyharness-others", "pyharness-empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "pyharness-others" / "text.txt").touch()
    with folders.scratch() as mine, folders.scratch() as other:
        assert not killed.exists()
        assert mine.exists()
        assert other.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pyharness-empty", "pyharness-others"]


@pytest.mark.parametrize("text", [b"dear diary\n", b"dear diary", b"\xff\xfe\n", b"[1]\n", b'{"header": 1}\n'])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "record.json.journal"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"record\.json\.journal.*--output"):
        store.Journal(tmp_path / "record.json").start({"suite": "a"}, resume=True)
    assert path.read_bytes() == text


def test_a_journal_killed_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "record.json.journal").write_text('{"header": {"su', encoding="utf-8")
    journal = store.Journal(tmp_path / "record.json")
    assert journal.start({"suite": "a"}, resume=False) == []
    journal.add({"n": 1})
    journal.close()
    assert journal.path is not None
    lines = journal.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"header": {"suite": "a"}}, {"n": 1}]


def test_a_header_that_cannot_be_recorded_is_refused_before_measuring(tmp_path: Path) -> None:
    journal = store.Journal(tmp_path / "record.json")
    with pytest.raises(InputError, match=r"record.*nan"):
        journal.start({"environment": float("nan")}, resume=False)
    journal.close()


def test_records_of_the_first_schema_are_read() -> None:
    before = {"metric": "bytes_per_token", "value": 4.0, "replicates": [3.9, None, 4.1]}
    record = store.Record.from_json(EMPTY | {"schema": 1, "results": [CASE | {"measurements": [before]}]}, "old")
    (measurement,) = record.results[0].measurements
    assert (measurement.replicates, measurement.no_interval) == ((3.9, None, 4.1), None)


def test_why_there_is_no_interval_is_kept() -> None:
    told = {"metric": "bytes_per_token", "value": 4.0, "no_interval": "40 documents; an interval needs 64"}
    measurement = store.measurement_from_json(told)
    assert measurement.no_interval == told["no_interval"]
    assert store.measurement_as_json(measurement) == told
    both = told | {"no_pair": "64 documents, one of them long"}
    assert store.measurement_as_json(store.measurement_from_json(both)) == both
