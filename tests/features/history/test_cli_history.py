"""``pyharness history``: from records to a verdict; exit statuses, files and bad input."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from cases.command_line import call, refused
from gating.histories import SUBJECT, checkout, commit, commits_of, gate_text, run_of_pytest
from gating.small_project import git

MARKUP = "<b>|x"
STEP = [0.0] * 15 + [0.05] * 10
COMMITS = len(STEP)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of as many commits as levels."""
    folder = tmp_path_factory.mktemp("history") / "project"
    checkout(folder, COMMITS)
    return folder


def records(folder: Path, revisions: Sequence[str], levels: Sequence[float], name: str = "encode") -> list[str]:
    paths = []
    for number, (revision, effect) in enumerate(zip(revisions, levels, strict=True)):
        path = folder / f"{number}.json"
        path.write_text(gate_text(revision, {name: effect}, seed=number), encoding="utf-8")
        paths.append(str(path))
    return paths


@pytest.fixture
def database(tmp_path: Path, project: Path) -> str:
    """A history with a step after 15 revisions."""
    path = str(tmp_path / "history.db")
    done = call("history", "add", *records(tmp_path, commits_of(project), STEP, MARKUP), "--db", path, cwd=project)
    assert done.returncode == 0, done.stderr
    return path


def test_what_is_suspected_has_a_status_a_comment_and_junit(tmp_path: Path, database: str, project: Path) -> None:
    files = [tmp_path / "comment.md", tmp_path / "junit.xml"]
    options = ["--db", database, "--markdown", str(files[0]), "--junit", str(files[1])]
    assert call("history", "check", *options).returncode == 0
    done = call("history", "check", *options, "--strict", "--force")
    assert done.returncode == 3
    assert any(one[:10] in done.stdout for one in commits_of(project)[13:18])
    assert "<b>" not in files[0].read_text(encoding="utf-8").replace("&lt;b", "")
    (suite,) = ET.parse(files[1]).getroot()  # noqa: S314 -- ours
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert call("history", "check", "--db", database, "--strict", "--effect", "20%").returncode == 0
    assert call("history", "check", "--db", database, "--strict", "--since", commits_of(project)[-1]).returncode == 0
    for since, code in (("HEAD~20", 3), ("HEAD~1", 0)):  # as git names them
        assert call("history", "check", "--db", database, "--strict", "--since", since, cwd=project).returncode == code


def test_a_report_has_every_format(tmp_path: Path, database: str, project: Path) -> None:
    shown = {form: call("history", "report", "--db", database, "--format", form) for form in
             ("text", "markdown", "html", "csv", "json")}  # fmt: skip
    assert {done.returncode for done in shown.values()} == {0}
    assert MARKUP in shown["text"].stdout
    assert all(MARKUP not in shown[form].stdout for form in ("markdown", "html"))
    rows = list(csv.DictReader(io.StringIO(shown["csv"].stdout)))
    assert [row["revision"] for row in rows] == commits_of(project)
    assert [float(row["place"]) for row in rows] == list(range(COMMITS))
    assert len(json.loads(shown["json"].stdout)) == COMMITS
    page = tmp_path / "page.html"
    assert call("history", "report", "--db", database, "-o", str(page)).returncode == 0
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert "exists" in refused("history", "report", "--db", database, "-o", str(page))
    assert "parquet" in refused("history", "report", "--db", database, "-o", str(tmp_path / "points.parquet"))


def test_adding_again_and_joining_and_rebuilding_change_nothing(tmp_path: Path, database: str, project: Path) -> None:
    before = call("history", "report", "--db", database, "--format", "json").stdout
    other = str(tmp_path / "other.db")
    for arguments in (
        ("add", str(tmp_path / "3.json"), "--db", database),
        ("rebuild", "--db", database),
        ("add", database, "--db", other),
        ("add", database, str(tmp_path / "4.json"), "--db", other),
    ):
        assert call("history", *arguments, cwd=project).returncode == 0
    assert call("history", "report", "--db", database, "--format", "json").stdout == before
    assert call("history", "report", "--db", other, "--format", "json").stdout == before
    assert database in refused("history", "add", database, "--db", database)


def test_a_shallow_clone_knows_less_and_a_deeper_one_places_the_rest(tmp_path: Path, project: Path) -> None:
    clone, path = tmp_path / "clone", str(tmp_path / "history.db")
    git(tmp_path, "clone", "--quiet", "--depth", "5", project.as_uri(), str(clone))
    paths = records(tmp_path, commits_of(project), STEP)
    assert call("history", "add", *paths, "--db", path, cwd=clone).returncode == 0
    few = json.loads(call("history", "report", "--db", path, "--format", "json").stdout)
    assert call("history", "add", paths[0], "--db", path, cwd=project).returncode == 0
    rows = json.loads(call("history", "report", "--db", path, "--format", "json").stdout)
    assert (len(few), len(rows)) == (6, COMMITS)


def test_a_file_of_pytest_benchmark_is_shown_and_never_judged(tmp_path: Path, project: Path) -> None:
    path = str(tmp_path / "history.db")
    files = [
        str(run_of_pytest(tmp_path / f"{place}.json", revision=revision, seconds=0.5 if place < 12 else 5.0))
        for place, revision in enumerate(commits_of(project))
    ]
    assert call("history", "add", *files, "--db", path, cwd=project).returncode == 0
    assert call("history", "check", "--db", path).returncode == 2
    shown = call("history", "report", "--db", path, "--format", "json").stdout
    assert {row["nature"] for row in json.loads(shown)} == {"shown"}


def test_records_without_a_commit_need_one(tmp_path: Path, project: Path) -> None:
    path, head = str(tmp_path / "history.db"), commits_of(project)[-1]
    for revision, dirty in ((None, False), (head, True)):
        file = str(run_of_pytest(tmp_path / "own.json", revision=revision, dirty=dirty))
        assert "--revision" in refused("history", "add", file, "--db", path, cwd=project)
    changed = tmp_path / "changed.json"
    changed.write_text(gate_text(f"{head}+abc", {"encode": 0.0}), encoding="utf-8")
    assert "--revision" in refused("history", "add", str(changed), "--db", path, cwd=project)
    assert not Path(path).exists()
    assert "'nowhere'" in refused("history", "add", file, "--db", path, "--revision", "nowhere", cwd=project)
    assert call("history", "add", file, "--db", path, "--revision", "HEAD~1", cwd=project).returncode == 0
    rows = json.loads(call("history", "report", "--db", path, "--format", "json").stdout)
    assert {row["revision"] for row in rows} == {commits_of(project)[-2]}


def test_a_record_of_an_unfinished_run_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    file, path = tmp_path / "run.json", tmp_path / "history.db"
    assert call("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression", "-o", str(file)).returncode == 0
    data = json.loads(file.read_text(encoding="utf-8"))
    for complete, word in ((True, "--revision"), (False, "--resume")):
        file.write_text(json.dumps(data | {"complete": complete}), encoding="utf-8")
        said = refused("history", "add", str(file), "--db", str(path), cwd=tmp_path)
        assert word in said
        assert "run.json" in said
    assert not path.exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"kind": "pyharness-gate"}', '{"kind": "other"}', "no JSON"])
def test_what_is_no_record_is_named_and_nothing_is_made(tmp_path: Path, content: str) -> None:
    file, path = tmp_path / "own.json", tmp_path / "history.db"
    file.write_text(content, encoding="utf-8")
    good = tmp_path / "good.json"
    good.write_text(gate_text(commit(1), {"encode": 0.0}), encoding="utf-8")
    assert "own.json" in refused("history", "add", str(good), str(file), "--db", str(path))
    assert not path.exists()


def test_a_database_of_others_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "photos.db")) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    path = tmp_path / "history.db"
    assert "photos.db" in refused("history", "add", str(tmp_path / "photos.db"), "--db", str(path))
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE records SET id = CAST(X'FF80' AS TEXT)",
        "UPDATE records SET content = X'00'",
        "ALTER TABLE records RENAME COLUMN revision TO y",
    ],
)
def test_another_history_that_is_damaged_is_named_and_nothing_is_made(tmp_path: Path, change: str) -> None:
    other, path = tmp_path / "other.db", tmp_path / "own.db"
    (file,) = records(tmp_path, [commit(1)], [0.0])
    assert call("history", "add", file, "--db", str(other), cwd=tmp_path).returncode == 0
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute(change)
    said = refused("history", "add", file, str(other), "--db", str(path), cwd=tmp_path)
    assert other.name in said
    assert path.name not in said
    assert not path.exists()


@pytest.mark.parametrize("place", ["created", "anchor", "subject", "suite"])
def test_half_of_a_surrogate_pair_is_shown_as_its_escape(tmp_path: Path, place: str) -> None:
    half, path, file = "\ud800", str(tmp_path / "history.db"), tmp_path / "gate.json"
    data = json.loads(gate_text(commit(1), {"encode": 0.0}))
    sides = data["about"]["commits"]
    holder, field = {
        "created": (data["about"], "created"), "suite": (data, "suite"),
        "anchor": (sides["base"], "commit"), "subject": (sides["head"], "subject"),
    }[place]  # fmt: skip
    holder[field] = half
    file.write_text(json.dumps(data), encoding="utf-8")
    for new in (1, 0):
        done = call("history", "add", str(file), "--db", path, cwd=tmp_path)
        assert (done.returncode, f"{new} record" in done.stdout) == (0, True), done.stderr
    assert call("history", "rebuild", "--db", path, cwd=tmp_path).returncode == 0
    with closing(sqlite3.connect(path)) as connection:
        kept = "\n".join(connection.iterdump())
    assert "\\ud800" in kept


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv", "json"])
def test_half_of_a_surrogate_pair_in_a_name_is_in_every_format(tmp_path: Path, project: Path, form: str) -> None:
    path, output = str(tmp_path / "history.db"), tmp_path / "report"
    files = records(tmp_path, commits_of(project)[:2], [0.0, 0.0], "a\ud800")
    assert call("history", "add", *files, "--db", path, cwd=project).returncode == 0
    done = call("history", "report", "--db", path, "--format", form, "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "ud800" in output.read_text(encoding="utf-8")


def test_two_records_of_one_gate_that_differ_add_nothing(tmp_path: Path) -> None:
    path, files = str(tmp_path / "history.db"), records(tmp_path, [commit(1)] * 2, [0.0, 0.5])
    assert "changed" in refused("history", "add", *files, "--db", path, cwd=tmp_path)
    for again in range(2):
        done = call("history", "add", files[0], files[0], "--db", path, cwd=tmp_path)
        assert (done.returncode, f"{1 - again} record" in done.stdout) == (0, True)
    assert "changed" in refused("history", "add", files[1], "--db", path, cwd=tmp_path)


def test_a_value_that_no_machine_measures_is_refused(tmp_path: Path) -> None:
    file, path = tmp_path / "gate.json", tmp_path / "history.db"
    file.write_text(gate_text(commit(1), {"encode": 0.0}, memory=1e60), encoding="utf-8")
    said = refused("history", "add", str(file), "--db", str(path), cwd=tmp_path)
    assert all(word in said for word in ("gate.json", "memory", "encode"))
    assert not path.exists()


def test_rows_for_programs_drive_no_terminal(tmp_path: Path, project: Path) -> None:
    path = str(tmp_path / "history.db")
    files = records(tmp_path, commits_of(project)[:2], [0.0, 0.0], "a\x1b[31m")
    assert call("history", "add", *files, "--db", path, cwd=project).returncode == 0
    shown = call("history", "report", "--db", path, "--format", "csv").stdout
    assert "\x1b" not in shown
    assert {row["benchmark"] for row in csv.DictReader(io.StringIO(shown))} == {"a\\x1b[31m"}


def test_outside_of_a_checkout_points_wait(tmp_path: Path) -> None:
    paths = records(tmp_path, [commit(number) for number in range(3)], [0.0] * 3)
    path = str(tmp_path / "history.db")
    done = call("history", "add", *paths, "--db", path, cwd=tmp_path)
    assert done.returncode == 0
    assert "3 revisions" in done.stdout
    assert call("history", "check", "--db", path).returncode == 2
    assert "--branch" in refused("history", "add", *paths, "--db", path, "--branch", "main", cwd=tmp_path)


def test_options_are_checked(tmp_path: Path, database: str, project: Path) -> None:
    assert "--effect" in refused("history", "check", "--db", database, "--effect", "3")
    for since in ("zzz", ""):
        said = refused("history", "check", "--db", database, "--since", since)
        assert all(word in said for word in ("--since", repr(since), "no revision", "pyharness history report"))
    for command in ("rebuild", "check"):
        assert "'nowhere'" in refused("history", command, "--db", database, "--branch", "nowhere", cwd=project)
    one = str(tmp_path / "one.txt")
    assert "--junit" in refused("history", "check", "--db", database, "--markdown", one, "--junit", one)
    assert "gone.db" in refused("history", "check", "--db", str(tmp_path / "gone.db"))
    assert "secret" not in refused("history", "check", "--db", "postgresql://me:secret@host/db")
    for command in ("report", "check"):
        assert "history.db" in refused("history", command, "--db", database, "-o" if command == "report" else "--junit",
                                       database, "--force")  # fmt: skip


def test_subjects_of_commits_are_shown_and_no_author(database: str, project: Path) -> None:
    shown = call("history", "report", "--db", database, "--format", "markdown").stdout
    assert "change 15" in shown or "change 14" in shown or "change 16" in shown
    assert SUBJECT not in shown
    assert b"a@b" not in Path(database).read_bytes()
