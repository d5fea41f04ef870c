"""Records and journals: whole or not at all, never by two, never of a newer kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pyharness import store
from pyharness.types import InputError

EMPTY = {"kind": store.KIND, "schema": store.SCHEMA, "results": []}


def test_a_newer_record_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    path.write_text(json.dumps(EMPTY | {"schema": store.SCHEMA + 1}), encoding="utf-8")
    with pytest.raises(
        InputError, match=f"schema {store.SCHEMA + 1}; this pyharness reads up to {store.SCHEMA}: upgrade"
    ):
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
    with pytest.raises(InputError, match="not a complete run record"):
        store.read(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    store.write(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        store.write(path, "new" * 1000)
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_two_runs_cannot_write_one_path(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    first = store.Journal(record)
    with pytest.raises(InputError, match="another run is writing"):
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
    journal.close()
    with pytest.raises(InputError, match="continue it with --resume"):
        store.Journal(record).start({"suite": "a", "environment": 1}, resume=False)
    with pytest.raises(InputError, match=r"cannot resume .*: environment was 1, now it is 2"):
        store.Journal(record).start({"suite": "a", "environment": 2}, resume=True)
