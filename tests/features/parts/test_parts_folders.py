"""The folder of a run in parts: what is missing is named, what is damaged done again, what is foreign refused."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.command_line import call, refused
from divided import runs as divided
from pyharness import store
from pyharness.features.parts import folder as folders
from pyharness.features.parts import planning
from pyharness.features.parts.folder import PartsFolder, in_ranges
from pyharness.features.parts.passes import FORM, in_planes
from pyharness.store.states import StateReader, write_case
from pyharness.system import bounded_file
from pyharness.types import InputError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A planned run of one row over JSON Lines in three parts, of which none is done."""
    divided.write_texts(tmp_path, 12)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 3, tmp_path / "run")
    return tmp_path / "run"


def merge(run: Path) -> Any:
    return call("merge", str(run), "-q", "-o", str(run.parent / "record.json"))


def the_file(run: Path, part: int) -> Path:
    (file,) = (run / str(part)).iterdir()
    return file


def written(run: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in run.rglob("*.part.zip")}


def test_missing_parts_are_named(run: Path) -> None:
    assert divided.worked(run, 1).returncode == 0
    done = merge(run)
    assert done.returncode == 1
    assert "0, 2;" in done.stderr
    assert not (run.parent / "record.json").exists()


def numbers(record: store.Record) -> dict[str, tuple[Any, ...]]:
    """The metrics of compression, with their replicates."""
    (result,) = record.of("compression")
    return {one.metric: (one.value, one.replicates) for one in result.measurements}


def test_numbers_of_what_is_there(run: Path) -> None:
    """They are those of the parts that were read, which together are a text of their own."""
    lines = (run.parent / "rows.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    assert divided.worked(run, 0, 1).returncode == 0
    output = run.parent / "record.json"
    done = call("merge", str(run), "--partial", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.count("2 of 3 parts") >= len(re.findall("^Compression|^Integrity", done.stdout, re.MULTILINE)) > 0
    )
    record = store.read(output)
    about = record.data["corpora"]["rows.jsonl"]
    assert about["parts"] == {"read": 2, "of": 3}
    assert not about["whole"]
    front = run.parent / "front.jsonl"
    front.write_text("".join(lines[: about["tally"]["documents"]]), encoding="utf-8")
    suite = divided.write_suite(run.parent, ["raw_bytes"], ["front.jsonl"], ["compression"])
    assert numbers(record) == numbers(divided.in_one_process(suite, run.parent / "front.json"))


@pytest.mark.parametrize("parts", [(2,), (1, 2), (0, 2)])
def test_any_parts_may_be_missing(run: Path, parts: tuple[int, ...]) -> None:
    assert divided.worked(run, *parts).returncode == 0
    output = run.parent / "record.json"
    assert call("merge", str(run), "-q", "--partial", "-o", str(output)).returncode == 0
    assert store.read(output).data["corpora"]["rows.jsonl"]["parts"] == {"read": len(parts), "of": 3}


def test_no_part_at_all_has_no_numbers(run: Path) -> None:
    done = call("merge", str(run), "-q", "--partial", "-o", str(run.parent / "record.json"))
    assert done.returncode == 1
    assert "0-2" in done.stderr


def test_a_record_of_all_parts_says_nothing_of_a_share(run: Path) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    output = run.parent / "record.json"
    assert call("merge", str(run), "-q", "--partial", "-o", str(output)).returncode == 0
    assert "parts" not in store.read(output).data["corpora"]["rows.jsonl"]


def test_what_is_done_is_left_alone_and_what_is_damaged_is_done_again(run: Path) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    before = written(run)
    assert divided.worked(run, 0, 1, 2).returncode == 0
    assert written(run) == before
    the_file(run, 1).write_bytes(the_file(run, 1).read_bytes()[:-9])
    (run / "2.done.json").write_text("{", encoding="utf-8")
    assert PartsFolder.opened(run).missing() == [1, 2]
    assert divided.worked(run, 0, 1, 2).returncode == 0
    changed = {Path(path).parent.name for path, time in written(run).items() if time != before[path]}
    assert changed == {"1", "2"}
    assert merge(run).returncode == 0


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["0.done.json", "0/*.part.zip"])
def test_what_is_no_file_is_done_again(run: Path, name: str, put: Callable[[Path], None]) -> None:
    assert divided.worked(run, 0).returncode == 0
    (path,) = run.glob(name)
    path.unlink()
    put(path)
    assert PartsFolder.opened(run).missing() == [0, 1, 2]
    assert divided.worked(run, 0).returncode == 0
    assert PartsFolder.opened(run).missing() == [1, 2]
    assert not path.is_symlink()


@pytest.mark.parametrize("name", ["0.done.json", "0/*.part.zip"])
def test_a_folder_in_place_of_a_file_is_refused(run: Path, name: str) -> None:
    assert divided.worked(run, 0).returncode == 0
    (path,) = run.glob(name)
    path.unlink()
    path.mkdir()
    assert str(path) in refused("work", str(run), "--part", "0")


def test_a_pipe_is_no_plan(run: Path) -> None:
    suite, other = str(run.parent / "suite.toml"), run.parent / "other"
    other.mkdir()
    os.mkfifo(other / "plan.json")
    assert str(other) in refused("plan", suite, "--parts", "3", "-o", str(other))


def test_a_part_is_for_its_owner_alone(run: Path) -> None:
    divided.worked(run, 0)
    assert (run / "0").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("part", ["3", "-1", "1000000000"])
def test_a_number_that_is_no_part_is_refused(run: Path, part: str) -> None:
    assert "0 to 2" in refused("work", str(run), "--part", part)


@pytest.mark.parametrize("words", [["--part", ""], []])
def test_a_task_without_its_number_is_refused(run: Path, words: list[str]) -> None:
    assert "part" in refused("work", str(run), *words)


def test_two_processes_do_not_work_on_one_part(run: Path) -> None:
    with PartsFolder.opened(run).working(1):
        said = refused("work", str(run), "--part", "1", "--part", "0")
        assert re.search(r"part 0 of 3: 1 case, .* s\nerror: another process .*part 1 in .*run'", said)
    assert divided.worked(run, 1).returncode == 0


def test_a_part_that_was_done_before_is_said_to_be(run: Path) -> None:
    first, again = divided.worked(run, 0), divided.worked(run, 0)
    assert re.fullmatch(r"part 0 of 3: 1 case, 0.0 MB of text, .*\d s\n", first.stderr)
    assert (again.returncode, again.stderr) == (0, "part 0 of 3: 1 case, 0.0 MB of text, done already\n")


def test_a_folder_holds_one_plan(run: Path) -> None:
    suite = run.parent / "suite.toml"
    divided.planned(suite, 3, run)  # the same
    assert str(run) in refused("plan", str(suite), "--parts", "4", "-o", str(run))
    assert "plan.json" in refused("merge", str(run.parent), "-o", str(run.parent / "record.json"))


def edit_plan(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    change(plan)
    (run / "plan.json").write_text(json.dumps(plan), encoding="utf-8")


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "version": lambda plan: plan["rows"]["raw_bytes"].update(version="0.0.1"),
    "vocabulary": lambda plan: plan["rows"]["raw_bytes"].update(vocabulary="other"),
    "pyharness 0": lambda plan: plan.update(pyharness="0"),
    "rows.jsonl": lambda plan: plan["listings"].update({"rows.jsonl": "0"}),
    "cases": lambda plan: plan.update(cases=["compression | other"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_other_versions_vocabularies_and_files_are_refused_by_name(run: Path, what: str) -> None:
    edit_plan(run, CHANGES[what])
    assert what in refused("work", str(run), "--part", "0")
    assert what in refused("merge", str(run), "-o", str(run.parent / "record.json"))


def test_a_file_that_grew_is_refused(run: Path) -> None:
    assert divided.worked(run, 0, 1).returncode == 0
    with (run.parent / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"text": "more", "of": "w"}) + "\n")
    assert "rows.jsonl" in refused("work", str(run), "--part", "2")
    (run.parent / "rows.jsonl").unlink()
    assert "rows.jsonl" in refused("work", str(run), "--part", "2")


@pytest.mark.parametrize(
    "damage",
    ["", "{}", "[1]", '{"kind": "pyharness-parts", "version": 9}', '{"kind": "pyharness-parts", "version": 1}'],
)
def test_a_damaged_plan_is_refused(run: Path, damage: str) -> None:
    (run / "plan.json").write_text(damage, encoding="utf-8")
    assert "plan.json" in refused("work", str(run), "--part", "0")


@pytest.mark.parametrize("parts", [0, -5, 10**9])
def test_a_number_of_parts_that_no_plan_has_is_refused(run: Path, parts: int) -> None:
    edit_plan(run, lambda plan: plan.update(parts=parts))
    assert str(parts) in refused("merge", str(run), "-o", str(run.parent / "record.json"))


def test_a_file_is_no_folder(run: Path) -> None:
    suite = str(run.parent / "suite.toml")
    assert "is a file" in refused("plan", suite, "--parts", "2", "-o", suite)


def test_a_suite_that_nobody_would_have_planned_is_refused(run: Path) -> None:
    edit_plan(run, lambda plan: plan["suite"].update(workers="many"))
    assert "suite" in refused("work", str(run), "--part", "0")
    edit_plan(run, lambda plan: plan["suite"].update(workers=1))
    assert "suite" in refused("work", str(run), "--part", "0")


def redone(run: Path, part: int, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the arrays of a part, as somebody who also mends the digest would."""
    file = the_file(run, part)
    with StateReader(file) as states:
        (case,) = states.cases
        arrays = states.of(case)
    write_case(file, case, change(dict(arrays)))
    path = run / f"{part}.done.json"
    done = json.loads(path.read_text(encoding="utf-8"))
    done["cases"][0]["sha256"] = bounded_file.digest(file)
    path.write_text(json.dumps(done), encoding="utf-8")


FORGED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another part": lambda arrays: {**arrays, "part": np.array([0, 3, FORM])},
    "another division": lambda arrays: {**arrays, "part": np.array([1, 4, FORM])},
    "an older form": lambda arrays: {**arrays, "part": np.array([1, 3])},
    "a newer form": lambda arrays: {**arrays, "part": np.array([1, 3, FORM + 1])},
    "another listing": lambda arrays: {**arrays, "part of": np.zeros(32, np.uint8)},
    "another vocabulary": lambda arrays: {**arrays, "vocabulary digest u": np.zeros((1, 16), np.uint8)},
    "no tally": lambda arrays: {name: array for name, array in arrays.items() if name != "tally u"},
    "a tally of all bits": lambda arrays: {**arrays, "tally u": ~(arrays["tally u"] * 0)},
    "no planes": lambda arrays: {**arrays, "tally u": np.zeros(6, np.uint64)},
    "a histogram of 2^40": lambda arrays: {**arrays, **in_planes({"facts": np.array([256, 1 << 40, 0])})},
}


@pytest.mark.parametrize("forgery", FORGED)
def test_arrays_of_something_else_fail_their_case(run: Path, forgery: str) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    redone(run, 1, FORGED[forgery])
    assert merge(run).returncode == 1
    record = store.read(run.parent / "record.json")
    (result,) = [one for one in record.results if one.case.benchmark == "compression"]
    assert (result.status, result.failure) == ("failed", "input")
    assert not result.measurements
    assert "part.zip' " in str(result.reason)


def test_a_part_of_a_newer_version_fails_its_case(run: Path) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    file = the_file(run, 1)
    with zipfile.ZipFile(file) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(file, "w") as new:
        for name, data in members.items():
            new.writestr(name, data.replace(b'"version": 1', b'"version": 7'))
    path = run / "1.done.json"
    done = json.loads(path.read_text(encoding="utf-8"))
    done["cases"][0]["sha256"] = bounded_file.digest(file)
    path.write_text(json.dumps(done), encoding="utf-8")
    assert merge(run).returncode == 1


def test_a_part_of_another_plan_is_refused(run: Path) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    other = run.parent / "other"
    divided.planned(run.parent / "suite.toml", 4, other)
    (other / "0").mkdir()
    the_file(run, 0).rename(other / "0" / the_file(run, 0).name)
    (run / "0.done.json").rename(other / "0.done.json")
    assert "0.done.json" in refused("work", str(other), "--part", "0")


def test_more_parts_than_documents_leave_empty_parts(tmp_path: Path) -> None:
    divided.write_texts(tmp_path, 3)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    divided.assert_equal(divided.in_parts(suite, 9, tmp_path / "run", tmp_path / "record.json"), expected)


def test_an_empty_whole_has_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n\n", encoding="utf-8")
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 2, tmp_path / "run")
    assert divided.worked(tmp_path / "run", 0, 1).returncode == 0
    assert merge(tmp_path / "run").returncode == 1
    assert all(one.status == "failed" for one in store.read(tmp_path / "record.json").results)


def test_an_existing_record_is_kept(run: Path) -> None:
    assert divided.worked(run, 0, 1, 2).returncode == 0
    output = run.parent / "record.json"
    output.write_text("mine", encoding="utf-8")
    assert str(output) in refused("merge", str(run), "-o", str(output))
    assert output.read_text(encoding="utf-8") == "mine"
    assert call("merge", str(run), "-q", "-o", str(output), "--force").returncode == 0


def test_a_plan_is_read_back(run: Path) -> None:
    opened = PartsFolder.opened(run)
    assert planning.opened(run).folder == opened
    assert opened.plan.parts == 3
    assert set(opened.plan.listings) == {"rows.jsonl"}
    assert json.loads((run / "plan.json").read_text(encoding="utf-8"))["version"] == folders.VERSION


def test_ranges() -> None:
    assert in_ranges([]) == ""
    assert in_ranges([4]) == "4"
    assert in_ranges([0, 1, 3, 4, 5, 9]) == "0-1, 3-5, 9"


def test_a_folder_is_removed_without_what_is_not_ours(run: Path) -> None:
    divided.worked(run, 0)
    (run / "notes.txt").write_text("mine", encoding="utf-8")
    PartsFolder.opened(run).remove()
    assert [path.name for path in run.iterdir()] == ["notes.txt"]
    with pytest.raises(InputError):
        PartsFolder.opened(run)
