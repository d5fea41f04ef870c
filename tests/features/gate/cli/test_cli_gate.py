"""``pyharness gate``: two tokenizers of this environment, measured for real; exit statuses, files, and bad input."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cases.command_line import program, refused, said_of
from pyharness.features.gate.records import gate_from_json
from pyharness.features.gate.types import GateVerdict

SUITE = """
name = "small"
corpora = { english = "sample" }
benchmarks = [{ name = "encode", workload = "tokenizer_encode", library = "pyharness", text = "english", bytes = 64 }]
"""


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return str(path)


def test_a_gate_of_equal_arms(tmp_path: Path, suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    files = [tmp_path / name for name in ("gate.json", "comment.md", "junit.xml")]
    done = program(
        "gate", "--base", "raw_bytes", "--head", "raw_bytes", "--suite", suite, "--force", "--budget", "60%",
        "-o", str(files[0]), "--markdown", str(files[1]), "--junit", str(files[2]),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    gate = gate_from_json(json.loads(files[0].read_text()), "gate.json")
    assert (gate.suite, gate.exit_code) == ("small", 0)
    assert gate.verdict in (GateVerdict.PASS, GateVerdict.INCONCLUSIVE)
    assert gate.rules.budget == 0.6
    assert len(gate.rounds[0].base) == gate.rules.rounds
    assert not gate.self_test.faults
    assert gate.about["seconds"] > 0
    assert files[1].read_text() == (tmp_path / "summary.md").read_text().rstrip("\n") + "\n"
    assert ET.parse(files[2]).getroot().tag == "testsuites"  # noqa: S314 -- ours
    shown = program("report", str(files[0]))
    assert shown.returncode == 0
    assert shown.stdout == done.stdout


def test_other_ids_are_incomparable_and_the_place_is_named(suite: str) -> None:
    done = program(
        "gate", "--base", "raw_bytes", "--head", "mistral:v3", "--suite", suite, "--force", "--format", "json"
    )
    assert done.returncode == 2
    gate = gate_from_json(json.loads(done.stdout), "output")
    assert gate.verdict is GateVerdict.INCOMPARABLE
    assert "from token 0 on" in gate.judgements[0].reason


def test_an_arm_that_does_not_build_is_incomparable(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "nothing.at.all"\n')
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=project, check=True)  # noqa: S607 -- as PATH has it
    output = tmp_path / "gate.json"
    done = program("gate", "--base", f"{project}@HEAD", "--head", f"{project}@HEAD", "--force", "--no-build-isolation",
                "--no-cache", "-o", str(output))  # fmt: skip
    assert done.returncode == 2
    gate = gate_from_json(json.loads(output.read_text()), "gate.json")
    assert gate.verdict is GateVerdict.INCOMPARABLE
    assert "nothing" in gate.self_test.faults[0]
    assert "Incomparable: nothing was compared." in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "3x"], "--budget '3x'"),
        (["--budget", "3"], "--budget '3' would be 300%; write 3% or 0.03"),
        (["--budget", "0%"], "--budget '0%'"),
        (["--budget", "5000%"], "write 3% or 0.03"),
        (["--suite", "gat"], "gate 'gat'; did you mean 'gate'"),
        (["--declared", "no-such.toml"], "no-such.toml"),
        (["-o", "same.json", "--junit", "same.json"], "name one file"),
        (["--base", "no-such-revision"], "no-such-revision"),
        (["--head", ""], "--head is empty"),  # of a variable that is not set: never the base against itself
        (["--base", ""], "--base is empty"),
        (["--base", "tiktoken:cl100k_bas"], "cl100k_base"),
        (["--max-minutes", "0"], "--max-minutes '0'"),
        (["--max-minutes", "soon"], "--max-minutes 'soon'"),
        (["--suite", "nowhere.toml"], "'nowhere.toml'"),
        (["--pytest", "tests"], "--pytest 'tests'"),
    ],
)
def test_bad_input(arguments: list[str], said: str, tmp_path: Path) -> None:
    given = ["gate", "--base", "raw_bytes", "--head", "raw_bytes", "--force", *arguments]
    assert said in refused(*given, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text("mine")
    assert "exists already" in refused(
        "gate", "--base", "raw_bytes", "--head", "raw_bytes", "-o", "gate.json", cwd=tmp_path
    )
    assert (tmp_path / "gate.json").read_text() == "mine"


def test_a_calibration_is_kept_and_refuses_a_finer_budget(tmp_path: Path, suite: str) -> None:
    cache = str(tmp_path / "cache")
    done = program("gate", "--base", "raw_bytes", "--suite", suite, "--calibrate", "--max-minutes", "0.2", "--force",
                XDG_CACHE_HOME=cache)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"False-alarm rate: \d+ of \d+ comparisons .* \d+ gates", " ".join(done.stdout.split()))
    (kept,) = Path(cache).rglob("calibrations/*.json")
    data = json.loads(kept.read_text())
    data["benchmarks"][0]["detectable"] = 0.2
    kept.write_text(json.dumps(data))
    same = ("gate", "--base", "raw_bytes", "--head", "raw_bytes", "--suite", suite, "--force")
    said = said_of(program(*same, "--budget", "10%", XDG_CACHE_HOME=cache))
    assert "encode from 20 % (budget 10 %)" in said
    assert program(*same, "--budget", "60%", XDG_CACHE_HOME=cache).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--head is missing"),
        (["--calibrate", "--head", "raw_bytes"], "leave out --head"),
        (["--calibrate", "--pytest", "tests"], "leave out --pytest"),
        (["--calibrate", "--counter", "instructions"], "leave out --counter"),
        (["--calibrate", "-o", "calibration.json"], "leave out --output"),
        (["--calibrate", "--format", "json"], "leave out --format"),
        (["--calibrate", "--strict"], "leave out --strict"),
    ],
)
def test_calibrations_have_one_arm(arguments: list[str], said: str) -> None:
    assert said in refused("gate", "--base", "raw_bytes", "--force", *arguments)
