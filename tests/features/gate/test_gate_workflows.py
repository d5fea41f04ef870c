"""The two workflows of the gate, played: of a branch and of a fork, which may read and nothing else."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from workflows.expressions import filled
from workflows.github import GitHub, served
from workflows.playing import SLOWEST_STEP
from workflows.rendered import read
from workflows.stage import MEASURED, ROOT, SLOW, WORKFLOWS, Stage

FILES = {"action.yml": (ROOT / "action.yml").read_text(encoding="utf-8")} | {
    path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / WORKFLOWS).iterdir())
}
PARSED: dict[str, Any] = {name: yaml.safe_load(text) for name, text in FILES.items()}


KEPT = {"number", "comment.md", "log.txt", "status"}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with served(GitHub()) as github:
        yield Stage(tmp_path, github)


def steps(name: str) -> Iterator[dict[str, Any]]:
    content = PARSED[name]
    for job in [content["runs"]] if name == "action.yml" else content["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("source", ["owner/pyharness", "stranger/pyharness"])
def test_a_pull_request_gets_one_comment_which_is_updated(stage: Stage, source: str) -> None:
    stage.open(7, source, {"new.txt": "new"})
    first, passed = stage.measure(7)
    assert passed
    assert (first.folder / "summary.md").read_text(encoding="utf-8").startswith("**Pass: 1 passed.**")
    posting, posted = stage.comment(7, first.run)
    assert posted, (posting.folder / "output.txt").read_text(encoding="utf-8")
    assert posting.log[0].startswith("checked out main: "), "and nothing of the pull request"
    assert (first.folder / "work" / "new.txt").exists() > (posting.folder / "work" / "new.txt").exists()
    (comment,) = stage.github.comments[7]
    mark, told, _, verdict, *_ = comment["body"].split("\n")
    assert (mark, verdict) == (f"<!-- pyharness-gate run {first.run}.1 -->", "**Pass: 1 passed.**")
    assert f"actions/runs/{first.run}) at {stage.shas[7][:12]}. The text below was made by code of the pull" in told

    stage.open(7, source, {SLOW: "slower"})
    stage.github.comments[7] = [comment]
    second, passed = stage.measure(7)
    assert not passed, "the job is red, and what it has measured is kept"
    assert stage.comment(7, second.run)[1]
    assert [one["id"] for one in stage.github.comments[7]] == [comment["id"]]
    assert comment["body"].splitlines()[3] == "**Regression: 1 regression, 1 passed.**"
    assert "`@\u200bsomeone`" in comment["body"]


@pytest.mark.skipif(MEASURED not in os.environ, reason="minutes: .ci/play_workflows --measured")
@pytest.mark.timeout(3 * SLOWEST_STEP)
def test_the_gate_itself_measures_a_fork_and_its_comment_is_posted(stage: Stage) -> None:
    own = deepcopy(PARSED["gate.yml"])
    own["jobs"]["gate"]["steps"][-1]["with"]["suite"] = os.environ[MEASURED]
    stage.open(7, "stranger/pyharness", {"new.txt": "new", f"{WORKFLOWS}/own.yml": yaml.safe_dump(own)})
    runner, passed = stage.measure(7, "own.yml")
    sys.stdout.write((runner.folder / "output.txt").read_text(encoding="utf-8"))
    (kept,) = artifacts(stage, runner.run).values()
    assert kept.keys() == {*KEPT, "gate.json", "junit.xml"}
    done = json.loads(kept["gate.json"])
    assert done["judgements"], kept["comment.md"]
    status = {"regression": 1, "failed": 2, "incomparable": 2}.get(done["verdict"], 0)
    assert (kept["status"], passed) == (f"{status}\n", status == 0)
    assert kept["comment.md"] in (runner.folder / "summary.md").read_text(encoding="utf-8")
    assert stage.comment(7, runner.run)[1]
    (comment,) = stage.github.comments[7]
    sys.stdout.write(comment["body"])
    assert comment["body"].splitlines()[3] == kept["comment.md"].splitlines()[0]
    assert read(comment["body"].split("\n", 2)[2]).found == []


@pytest.mark.parametrize("source", ["owner/pyharness", "stranger/pyharness"])
def test_what_runs_the_code_of_a_pull_request_cannot_comment(stage: Stage, source: str) -> None:
    stage.open(7, source, {"new.txt": "new"})
    runner, _ = stage.measure(7)
    address = f"{stage.github.address}/repos/owner/pyharness/issues/7/comments"
    request = urllib.request.Request(address, json.dumps({"body": "x"}).encode())  # noqa: S310 -- localhost
    request.add_header("Authorization", f"Bearer {runner.token}")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)  # noqa: S310
    assert stage.github.comments[7] == []
    asked = json.loads((runner.folder / "temp" / "asked.json").read_text(encoding="utf-8"))
    assert not {"GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN"} & set(asked["variables"])
    assert "PYHARNESS_CUDA" in asked["variables"], "builds of both arms get it"
    assert runner.token not in "".join(
        path.read_text(encoding="utf-8", errors="replace") for path in runner.folder.rglob("*") if path.is_file()
    )


def workflow(*uses: dict[str, str]) -> dict[str, str]:
    """A workflow of its own, with a step for each use of the action: file and content."""
    checkout = PARSED["gate.yml"]["jobs"]["gate"]["steps"][0]
    job = {"steps": [checkout, *({"uses": "./", "if": "always()", "with": given} for given in uses)]}
    return {f"{WORKFLOWS}/own.yml": yaml.safe_dump({"permissions": {"contents": "read"}, "jobs": {"gate": job}})}


def artifacts(stage: Stage, run: int) -> dict[str, dict[str, str]]:
    """What a run has left: files of each artifact."""
    found = {}
    for name, archive in stage.github.artifacts[run].values():
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            assert name not in found, "the second of one name is refused"
            found[name] = {one: packed.read(one).decode() for one in packed.namelist()}
    return found


def test_inputs_of_the_action_are_never_run(stage: Stage) -> None:
    given = {
        "base": '$(touch a)"; touch b; "`touch c`',
        "head": "--help",
        "suite": "s t\nreport=x",
        "budget": "3%; touch d",
    }
    stage.open(7, "owner/pyharness", workflow({**given, "artifact": "a/../$(touch a)\nreport=/x"}))
    runner, _ = stage.measure(7, "own.yml")
    asked = json.loads((runner.folder / "temp" / "asked.json").read_text(encoding="utf-8"))["arguments"]
    assert asked[:5] == ["gate", *(f"--{name}={value}" for name, value in given.items())]
    assert not [path for path in runner.folder.rglob("*") if path.name in ("a", "b", "c", "d")]
    assert list(artifacts(stage, runner.run)) == ["a-..---touch-a--report--x"]


def test_inputs_about_a_projects_own_tests_reach_the_gate_whole(stage: Stage) -> None:
    given = {"pytest": "speed tests/$(touch a)", "with": 'numpy >= 2\n\n"; touch b; "\n', "max-minutes": "5; touch c",
             "strict": "true"}  # fmt: skip
    stage.open(7, "owner/pyharness", workflow(given))
    runner, _ = stage.measure(7, "own.yml")
    asked = json.loads((runner.folder / "temp" / "asked.json").read_text(encoding="utf-8"))["arguments"]
    assert asked[3:9] == [
        "--pytest=speed tests/$(touch a)", "--with=numpy >= 2", '--with="; touch b; "', "--budget=3%",
        "--max-minutes=5; touch c", "--strict",
    ]  # fmt: skip
    assert not [path for path in runner.folder.rglob("*") if path.name in ("a", "b", "c")]
    assert list(artifacts(stage, runner.run)) == ["pyharness-gate---touch-a-"]


def test_strict_is_true_or_false(stage: Stage) -> None:
    stage.open(7, "owner/pyharness", workflow({"strict": "maybe"}))
    runner, passed = stage.measure(7, "own.yml")
    assert not passed
    assert not (runner.folder / "temp" / "asked.json").exists()
    assert "neither true nor false" in (runner.folder / "output.txt").read_text(encoding="utf-8")


def test_two_uses_in_one_job_leave_two_summaries_two_artifacts_and_one_comment(stage: Stage) -> None:
    stage.open(7, "stranger/pyharness", workflow({"suite": "bench/first one.toml"}, {"suite": "second"}, {}))
    runner, passed = stage.measure(7, "own.yml")
    assert passed
    kept = artifacts(stage, runner.run)
    assert list(kept) == ["pyharness-gate-first-one", "pyharness-gate-second", "pyharness-gate"]
    for files, suite in zip(kept.values(), ("bench/first one.toml", "second", "gate"), strict=True):
        assert files.keys() == {*KEPT, "gate.json", "junit.xml"}
        assert f"\nSuite {suite}; base HEAD" in files["comment.md"]
    summary = (runner.folder / "summary.md").read_text(encoding="utf-8")
    assert re.findall(r"^Suite ([^;]*);", summary, re.MULTILINE) == ["bench/first one.toml", "second", "gate"]
    output = (runner.folder / "output.txt").read_text(encoding="utf-8")
    assert output.count("pip -m pip install") == 1, "a build of minutes"
    assert stage.comment(7, runner.run)[1]
    (comment,) = stage.github.comments[7]
    assert re.findall("^### (.*)", comment["body"], re.MULTILINE) == sorted(kept)
    assert comment["body"].count("**Pass: 1 passed.**") == 3


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ends": "silent 0"}, "it ended with exit status 0"),
        ({"ends": "silent 1"}, "it ended with exit status 1"),
        ({"ends": "silent 2"}, "it ended with exit status 2"),
        ({"ends": "silent 3"}, "it ended with exit status 3"),
        ({"ends": "silent 124"}, "it ended with exit status 124"),
        ({"ends": "aborts"}, "it ended with exit status 134, signal 6"),
        ({"ends": "139"}, "it ended with exit status 139, signal 11"),
        ({"ends": "stopped"}, "it was stopped before its end"),
        ({"broken": ""}, "it was not started, as the step before it shows"),
    ],
)
def test_a_gate_that_says_nothing_is_said_to_have_failed(stage: Stage, files: dict[str, str], said: str) -> None:
    stage.open(7, "stranger/pyharness", files)
    runner, passed = stage.measure(7)
    assert not passed, "no evidence is no pass"
    summary = (runner.folder / "summary.md").read_text(encoding="utf-8")
    (kept,) = artifacts(stage, runner.run).values()
    for text in (summary, kept["comment.md"]):
        assert f"**The gate failed: {said}.**\n" in text
        assert ("\n    what the gate says <@someone>\n" in text) == ("broken" not in files), "in a block of code"
    assert kept["number"] == "7\n"
    assert kept.get("status", "") in f"{said}\n".replace(",", "\n")
    assert ("It had written before:\n\n**Pass: 1 passed.**\n" in kept["comment.md"]) == (files == {"ends": "139"})
    assert stage.comment(7, runner.run)[1]
    assert f"**The gate failed: {said}.**" in stage.github.comments[7][0]["body"]


@pytest.mark.parametrize("status", ["1", "2", "3"])
def test_a_gate_that_has_its_say_is_left_alone(stage: Stage, status: str) -> None:
    stage.open(7, "owner/pyharness", {"ends": status})
    runner, passed = stage.measure(7)
    assert not passed
    (kept,) = artifacts(stage, runner.run).values()
    assert kept["comment.md"].startswith("**Pass: 1 passed.**\n")
    assert kept["status"] == f"{status}\n"
    assert "failed" not in (runner.folder / "summary.md").read_text(encoding="utf-8")


def test_a_second_use_that_fails_does_not_show_what_the_first_has_found(stage: Stage) -> None:
    (name, text), *_ = workflow({"suite": "first"}, {"suite": "second"}).items()
    own = yaml.safe_load(text)
    own["jobs"]["gate"]["steps"].insert(2, {"run": "echo silent 2 > ends"})
    stage.open(7, "owner/pyharness", {name: yaml.safe_dump(own)})
    runner, passed = stage.measure(7, "own.yml")
    assert not passed
    first, second = artifacts(stage, runner.run).values()
    assert first["comment.md"].startswith("**Pass: 1 passed.**\n")
    assert second["comment.md"].startswith("**The gate failed: it ended with exit status 2.**\n")
    assert second.keys() == KEPT


def test_a_gate_that_did_not_get_as_far_leaves_no_comment(stage: Stage) -> None:
    stage.open(7, "owner/pyharness", {"new.txt": "new"})
    runner, posted = stage.comment(7, 1)
    assert not posted
    assert "there is none: the gate did not get as far" in (runner.folder / "output.txt").read_text(encoding="utf-8")
    assert stage.github.comments[7] == []


def test_gates_of_one_pull_request_replace_each_other_and_comments_wait(stage: Stage) -> None:
    assert PARSED["gate.yml"]["concurrency"] == {"group": "gate-${{ github.ref }}", "cancel-in-progress": True}
    (job,) = PARSED["gate-comment.yml"]["jobs"].values()
    assert job["concurrency"]["cancel-in-progress"] is False
    for number, source in ((7, "owner/pyharness"), (8, "owner/pyharness"), (9, "stranger/pyharness")):
        stage.open(number, source, {f"{number}.txt": ""})
    groups = [
        filled(job["concurrency"]["group"], {"github": {"event": stage.event(number, run)}})
        for number, run in ((7, 1), (7, 2), (8, 3), (9, 4))
    ]
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3


def test_an_older_run_that_is_late_changes_nothing(stage: Stage) -> None:
    stage.open(7, "stranger/pyharness", {"new.txt": "new"})
    first, second = stage.measure(7)[0], stage.measure(7)[0]
    assert stage.comment(7, second.run)[1]
    late, _ = stage.comment(7, first.run)
    assert f"run {second.run}.1, which is newer, stays" in (late.folder / "output.txt").read_text(encoding="utf-8")
    assert f"actions/runs/{second.run})" in stage.github.comments[7][0]["body"]


def test_each_workflow_may_do_what_it_needs_and_no_more() -> None:
    assert PARSED["gate.yml"]["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in PARSED["gate.yml"]["jobs"].values())
    assert PARSED["gate-comment.yml"]["permissions"] == {}
    (job,) = PARSED["gate-comment.yml"]["jobs"].values()
    assert job["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    assert PARSED["gate-comment.yml"][True] == {"workflow_run": {"workflows": ["Gate"], "types": ["completed"]}}
    assert PARSED["gate.yml"]["name"] == "Gate"
    assert not any(word in text for text in FILES.values() for word in ("secrets.", "pull_request_target"))


def test_what_may_comment_runs_nothing_of_the_pull_request() -> None:
    checkout, post = steps("gate-comment.yml")
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert post["run"] == "python3 -I .github/scripts/post_comment.py"
    assert not re.search(r"workflow_run\.head|download-artifact", str([checkout, post]))


@pytest.mark.parametrize("name", FILES)
def test_expressions_stand_in_no_script_and_actions_are_pinned(name: str) -> None:
    for step in steps(name):
        if "run" in step and name != "ci.yml":
            assert "${{" not in step["run"]
        if "uses" in step and step["uses"] != "./":
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
    pinned = set(re.findall(r"uses: (actions/[a-z-]+)@(v\d+)", "\n".join(FILES.values())))
    assert len(dict(pinned)) == len(pinned), "one version of each"
