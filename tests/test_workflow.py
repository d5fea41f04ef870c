"""The workflow for people runs what a pull request must pass, asks for nothing more, and its packages are true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_checks_are_those_of_ci_run_on_the_oldest_and_the_newest_python() -> None:
    (command,) = commands("checks")
    assert command == ".ci/run ${{ github.event_name != 'pull_request' && '--all' || '' }}"
    assert {"push", "pull_request", "schedule"} == WORKFLOW[True].keys()  # YAML takes "on" for true
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    (step,) = (step for step in JOBS["checks"]["steps"] if "run" in step)
    assert step["env"] == {"PYTHON": "python"}
    versions = re.findall(r"Python :: (3\.\d+)\"?", "\n".join(PROJECT["project"]["classifiers"]))
    assert JOBS["checks"]["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


def test_ci_run_takes_the_python_that_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/asked"\nexit 3\n', encoding="utf-8")
    python.chmod(0o755)
    checkout = tmp_path / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    for name in ("run", "newcomer"):
        shutil.copy(ROOT / ".ci" / name, checkout / ".ci")
    done = subprocess.run(["bash", ".ci/run"], cwd=checkout, env=os.environ | {"PYTHON": str(python)}, check=False)  # noqa: S607
    assert done.returncode == 3
    assert (tmp_path / "asked").read_text(encoding="utf-8").startswith("-m venv ")


def test_the_newcomer_runs_the_two_commands_of_the_readme_with_nothing_else() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^## Two commands\n.*?```console\n(.*?)```", readme, re.MULTILINE | re.DOTALL)
    script = (ROOT / ".ci" / "newcomer").read_text(encoding="utf-8")
    assert re.findall(r'^day \w+ "(.*)"$', script, re.MULTILINE) == block.splitlines()
    assert 'env -i HOME="$folder/$1/home" PATH="$folder/$1/venv/bin:$PATH" bash -c "$2"' in script


def test_ci_run_begins_as_a_newcomer_and_goes_on_with_what_that_skipped() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    before, newcomer, after = script.partition("\n.ci/newcomer ")
    assert newcomer
    assert not re.search(r"install|PYHARNESS_DATA", before)
    tiers = ["python -m pytest -n auto -m process\n", 'python -m pytest -n auto "${tiers[@]}"\n']
    assert re.search(f"{tiers[0]}.*torch==.*PYHARNESS_BROWSER=.*{re.escape(tiers[1])}", after, re.DOTALL)
    assert re.findall(r"^ *tiers=(.*)$", before, re.MULTILINE) == ["(--rest -m 'not slow')", "(-m '')"]


THREE_TESTS = """
import os, pytest
def test_a(): pass
def test_b(): "B" in os.environ or pytest.skip("no B")
def test_c(): pass
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_the_rest_is_what_was_skipped(workers: str, tmp_path: Path) -> None:
    (tmp_path / "test_stages.py").write_text(THREE_TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  process\n", encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "tests" / "support"), *filter(None, sys.path)])

    def stage(*options: str, **variables: str) -> str:
        command = [sys.executable, "-m", "pytest", "-v", *options]
        environment = os.environ | {"PYTHONPATH": path} | variables
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        ).stdout

    assert "1 passed, 1 skipped" in stage(workers, "-k", "not test_c")
    assert "1 passed" in stage(workers, "test_stages.py::test_c", B="1"), "what one run adds, the next does not forget"
    second = stage("-n0", "--rest", B="1")
    assert "1 passed, 2 deselected" in second
    assert "test_b PASSED" in second


def test_it_asks_for_nothing_but_to_read() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in JOBS.values())
    assert "secrets" not in TEXT


def test_actions_are_pinned_to_major_versions() -> None:
    used = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("job", ["wheel", "sdist"])
def test_packages_are_run_where_there_is_no_checkout(job: str) -> None:
    assert "pyharness run -t raw_bytes -c sample -b compression" in commands(job)
    assert JOBS[job]["needs"] == "packages"
    assert not any("checkout" in step.get("uses", "") for step in JOBS[job]["steps"])


def test_the_wheel_is_checked_without_a_compiler() -> None:
    assert JOBS["wheel"]["container"].endswith("-slim")
    assert "pyharness list tokenizers" in commands("wheel")
    assert "pip install --only-binary :all: /dist/*-${{ matrix.wheel }}-*.whl" in commands("wheel")
    for row in JOBS["wheel"]["strategy"]["matrix"]["include"]:
        assert row["wheel"] == "cp" + row["python"].replace(".", "")


def test_wheels_are_built_for_every_python_that_is_named() -> None:
    versions = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{version}-*" for version in versions]


def test_the_sdist_has_what_a_wheel_is_made_of() -> None:
    settings = PROJECT["tool"]["scikit-build"]
    left_out = tuple(settings["sdist"]["exclude"] if "sdist" in settings else settings["sdist.exclude"])
    needed = ("CMakeLists.txt", "LICENSE", "README.md", "cmake", "csrc", "pyharness", "bench/suites")
    assert not any(name.startswith(left_out) for name in needed)
