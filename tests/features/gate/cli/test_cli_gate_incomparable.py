"""Gates that end before anything is compared: all outputs are there all the same, or the last ones would stay."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cases.command_line import program
from gating import small_project
from pyharness.features.gate.records import gate_from_json
from pyharness.features.gate.types import Gate, GateVerdict

# It ignores what it is asked; so does what it starts, in a session of its own.
DEAF = """
import os, signal, time

def build_wheel(*_, **__):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
    with open({pids!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    time.sleep(120)
"""


ANY_LIBRARY = 'benchmarks = [{ name = "encode", workload = "encode", text = "english", bytes = 64 }]'


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """Folders of their own for what is kept, for what goes, and for the summary of a step."""
    (tmp_path / "temporary").mkdir()
    variables = {"TMPDIR": "temporary", "PYHARNESS_CACHE": "cache", "GITHUB_STEP_SUMMARY": "summary.md"}
    return {name: str(tmp_path / value) for name, value in variables.items()}


def incomparable(folder: Path, surroundings: dict[str, str], *arguments: str) -> Gate:
    """Run a gate that cannot compare; returns its record, after a look at the other outputs."""
    files = [str(folder / name) for name in ("gate.json", "comment.md", "junit.xml")]
    outputs = ["-o", files[0], "--markdown", files[1], "--junit", files[2]]
    (folder / "any.toml").write_text(ANY_LIBRARY, encoding="utf-8")
    done = program("gate", *arguments, "--suite", "any.toml", "--force", *outputs, cwd=folder, **surroundings)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    gate = gate_from_json(json.loads(Path(files[0]).read_text()), "gate.json")
    assert (gate.verdict, gate.exit_code) == (GateVerdict.INCOMPARABLE, 2)
    assert len(gate.self_test.faults) == 1
    assert "\n" not in gate.self_test.faults[0]
    assert ET.parse(files[2]).getroot().find(".//error") is not None  # noqa: S314 -- ours
    comment = Path(files[1]).read_text()
    assert "ncomparable" in comment
    assert Path(surroundings["GITHUB_STEP_SUMMARY"]).read_text() == comment.rstrip("\n") + "\n"
    assert "Incomparable: nothing was compared." in done.stdout
    assert not list((folder / "temporary").iterdir())
    return gate


def test_time_that_runs_out_during_a_build(tmp_path: Path, surroundings: dict[str, str]) -> None:
    project, pids = tmp_path / "project", tmp_path / "pids"
    small_project.write(project)
    small_project.commit(project)
    small_project.write(project, backend=DEAF.format(pids=str(pids)))
    small_project.commit(project)
    begun = time.monotonic()
    gate = incomparable(
        tmp_path, surroundings, "--base", f"{project}@HEAD~1", "--head", f"{project}@HEAD", "--max-minutes", "0.2",
        "--no-build-isolation",
    )  # fmt: skip
    assert time.monotonic() - begun < 12 + 15
    (fault,) = gate.self_test.faults
    assert re.match(rf"--max-minutes 0\.2: time ran out .*head '{project}@HEAD' was built: ended after ", fault)
    assert Path(fault.split()[-1]).exists()
    started = pids.read_text().split()
    assert len(started) == 2
    assert not [one for one in started if _lives(one)]


TELLING = """
import os

def build_wheel(*_, **__):
    raise RuntimeError(f"planted: {os.environ['MORE']} {os.environ.get('OTHER')}")
"""


# What a build may leave instead of a wheel: a line that is run before it returns, in the folder of the sources.
LEFT = {
    "two wheels": "shutil.copy(made, f'../wheel-{side}/other-1.0-py3-none-any.whl')",
    "an empty file": "made.write_bytes(b'')",
    "nothing": "made.unlink()",
    "no METADATA": "anew({'tinytok.py': ''})",
    "two dist-infos": "anew({**whole(), 'other-1.0.dist-info/METADATA': whole()[METADATA]})",
    "METADATA of bzip2": "anew(whole(), zipfile.ZIP_BZIP2)",
    "METADATA of another library": "anew({**whole(), METADATA: 'Name: other\\nVersion: 1.0\\n'})",
    "no RECORD": "anew({name: data for name, data in whole().items() if 'RECORD' not in name})",
    "a wheel for another machine": "made = made.rename(made.with_name('tinytok-1.0-cp27-cp27m-win32.whl'))",
    "a path upwards": "anew({**whole(), '../../../../outside.py': ''})",
}
LEAVING = """
import os, pathlib, shutil, zipfile
{backend}
build_right = build_wheel
METADATA = "tinytok-1.0.dist-info/METADATA"

def build_wheel(directory, *_, **__):
    global made
    made = pathlib.Path(directory, build_right(directory))
    side = pathlib.Path.cwd().name.rpartition("-")[2]

    def whole():
        with zipfile.ZipFile(made) as archive:
            return {{name: archive.read(name) for name in archive.namelist()}}

    def anew(members, method=zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(made, "w", method) as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    {line}
    return made.name
"""


@pytest.mark.parametrize("left", LEFT)
def test_what_is_no_wheel_is_a_verdict(left: str, tmp_path: Path, surroundings: dict[str, str]) -> None:
    project = tmp_path / "project"
    small_project.write(project, backend=LEAVING.format(backend=small_project.BACKEND, line=LEFT[left]))
    small_project.commit(project)
    named = f"{project}@HEAD"
    gate = incomparable(tmp_path, surroundings, "--base", named, "--head", named, "--no-build-isolation")
    assert "base '" in gate.self_test.faults[0]
    assert gate.self_test.faults[0].isprintable()
    assert not list(tmp_path.rglob("outside.py"))


def test_a_further_variable_gets_through_and_its_value_is_nowhere(tmp_path: Path, surroundings: dict[str, str]) -> None:
    project = tmp_path / "project"
    small_project.write(project, backend=TELLING)
    small_project.commit(project)
    surroundings |= {"MORE": "s3cr3t-s3cr3t", "OTHER": "0th3r"}
    named = (f"{project}@HEAD",) * 2
    gate = incomparable(
        tmp_path, surroundings, "--base", named[0], "--head", named[1], "--pass", "MORE", "--no-build-isolation"
    )
    assert "RuntimeError: planted: $MORE None" in gate.self_test.faults[0]
    assert re.search(r"builds .*\bMORE\b", gate.notes[-1])
    for name in ("gate.json", "comment.md", "junit.xml"):
        assert "s3cr3t" not in (tmp_path / name).read_text()


def test_what_is_found_after_the_gate_has_begun(tmp_path: Path, surroundings: dict[str, str]) -> None:
    wheels = [str(small_project.wheel(tmp_path, name=name)) for name in ("one", "other")]
    gate = incomparable(tmp_path, surroundings, "--base", wheels[0], "--head", wheels[1])
    (fault,) = gate.self_test.faults
    assert re.match(r"--base .*\bone\b.*--head .*\bother\b.*library", fault)


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        ("HEAD~1", "HEAD", "--base: unknown revision 'HEAD~1'"),
        (".@HEAD~1", "HEAD", "'.@HEAD~1': "),
        ("HEAD", "origin/main~1", "--head: unknown revision 'origin/main~1'"),
    ],
)
def test_a_clone_without_the_base(
    base: str, head: str, said: str, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    project = tmp_path / "project"
    small_project.write(project)
    small_project.commit(project)
    small_project.commit(project)
    clone = tmp_path / "clone"
    small_project.git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "clone")
    (clone / "temporary").mkdir()
    gate = incomparable(clone, {**surroundings, "TMPDIR": "temporary"}, "--base", base, "--head", head)
    (fault,) = gate.self_test.faults
    assert said in fault
    assert "git fetch --unshallow" in fault


def test_a_calibration_is_prepared_in_its_time(tmp_path: Path, surroundings: dict[str, str]) -> None:
    project, pids = tmp_path / "project", tmp_path / "pids"
    small_project.write(project, backend=DEAF.format(pids=str(pids)))
    small_project.commit(project)
    begun = time.monotonic()
    done = program("gate", "--base", f"{project}@HEAD", "--calibrate", "--max-minutes", "0.3", "--no-build-isolation",
                "--force", cwd=tmp_path, **surroundings)  # fmt: skip
    assert time.monotonic() - begun < 18 + 15
    assert done.returncode == 2
    said = done.stderr.strip().splitlines()[-1]
    assert re.search(rf"--max-minutes 0\.3: .*: time ran out .*base '{project}@HEAD' was built: ", said)
    assert not [one for one in pids.read_text().split() if _lives(one)]


@pytest.mark.parametrize("more", [["--suite", "tokenizers"], ["--pytest", "tests"]])
def test_names_that_mean_nothing_are_refused_before_it_begins(tmp_path: Path, more: list[str]) -> None:
    done = program("gate", "--base", "no-such", "--head", "raw_bytes", *more, "-o", "gate.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "--base 'no-such'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_misspelt_revision_is_one_line_and_no_output(tmp_path: Path, surroundings: dict[str, str]) -> None:
    project = tmp_path / "project"
    small_project.write(project)
    small_project.commit(project)
    done = program("gate", "--base", "mian", "--head", "HEAD", "-o", str(tmp_path / "gate.json"), cwd=project,
                **surroundings)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "did you mean 'main'?" in done.stderr
    assert not (tmp_path / "gate.json").exists()
    assert not Path(surroundings["GITHUB_STEP_SUMMARY"]).exists()


def _lives(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
