"""The check for machines with a GPU: how far it comes without one, and what it does on a machine that is lent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from device import building, machine, stages
from device.rehearsal import rehearse
from device.stages import Part, Place

from pyharness.kernels import devices

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench" / "gpu_check.sh"
STAGES = ["build", "instructions", "smoke", "test", "memcheck", "profile", "racecheck", "ncu"]


def called(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, **variables}
    return subprocess.run([str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """Modules that a machine may lack, in a folder for PYTHONPATH."""
    for name in ("jsonschema", "ensurepip"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n", encoding="utf-8")
    for name in ("scikit-build-core", "pybind11"):  # which a build in isolation leaves out
        installed(tmp_path, name, "99")
    return tmp_path


def installed(folder: Path, name: str, version: str, *requires: str) -> None:
    """Make a folder for PYTHONPATH hold a package, by its metadata alone."""
    home = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    home.mkdir()
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    (home / "METADATA").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def no_gpu() -> None:
    if shutil.which("nvidia-smi") is not None:
        pytest.skip("nvidia-smi is on the PATH: there may be a GPU")


def pretended(folder: Path, capability: str = "9.0") -> str:
    """Put an nvidia-smi on a PATH that lists a GPU."""
    program = folder / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "Some GPU, {capability}, 580.1"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_a_dry_run_takes_every_stage_up_to_the_missing_device(without: Path, no_gpu: None) -> None:
    done = called("--dry-run", PYTHONPATH=str(without))
    lines = [line for line in done.stdout.splitlines() if " part" in line]
    assert [line.split()[0] for line in lines] == STAGES, done.stdout + done.stderr
    assert all(re.search(r"parts? +(ready|no device)", line) for line in lines), done.stdout
    assert done.returncode == 0
    assert "nothing is started" not in done.stdout  # what is built here was started


OLD = r"gpu_check: the build needs scikit-build-core>=1\.0 \(0\.11\.6 is installed\)\. .* 'scikit-build-core>=1\.0'.*\n"


def test_an_old_package_that_builds_is_named_in_one_line_before_anything_is_built(tmp_path: Path) -> None:
    """In a checkout where nothing is built, without a network, as on a machine that is lent."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "bench", clone / "bench")
    shutil.copy(ROOT / "pyproject.toml", clone)
    installed(tmp_path, "scikit-build-core", "0.11.6")
    installed(tmp_path, "pybind11", "3.0")
    nowhere = {"PIP_NO_INDEX": "1", "https_proxy": "http://localhost:9"}
    for arguments in (["--dry-run"], ["build"], []):
        environment = {
            **os.environ,
            **nowhere,
            "PYTHON": sys.executable,
            "PYTHONPATH": str(tmp_path),
            "PATH": pretended(tmp_path),
        }
        command = [str(clone / "bench" / "gpu_check.sh"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stdout == ""
        assert re.fullmatch(OLD, done.stderr), done.stderr
    assert not (clone / "build" / "gpu_check" / "site").exists()


def test_what_the_build_needs_is_read_from_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    wanted = ["present>=2", "old>=2", "absent==1", "elsewhere; python_version < '3'"]
    (tmp_path / "pyproject.toml").write_text(f"[build-system]\nrequires = {wanted}\n", encoding="utf-8")
    installed(tmp_path, "present", "2.1", "of-present>3", "of-an-extra; extra == 'more'")
    installed(tmp_path, "old", "1.9.post1")
    assert building.lacking(tmp_path) == {"old>=2": "1.9.post1", "absent==1": "", "of-present>3": ""}
    line = building.refusal(tmp_path)
    assert "old>=2 (1.9.post1 is installed), absent==1 (not found), of-present>3 (not found)" in line
    assert "\n" not in line
    assert building.refusal(tmp_path, ["nvcc"]).startswith("gpu_check: the build needs nvcc (not found), old>=2 (1.9")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert building.refusal(tmp_path) == ""
    assert building.refusal(tmp_path, ["nvcc"]) == "gpu_check: the build needs nvcc (not found). Nothing was built."


def test_a_machine_without_packaging_has_the_copy_of_pip_or_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip._vendor.packaging.requirements")
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert building.lacking(ROOT) in ({}, {"scikit-build-core>=1.0": "", "pybind11>=3": ""})
    monkeypatch.setitem(sys.modules, "pip._vendor.packaging.requirements", None)
    assert building.lacking(ROOT) == {"pip": ""}


def test_without_a_gpu_nothing_is_built(tmp_path: Path, no_gpu: None) -> None:
    done = called("--work", str(tmp_path / "work"))
    assert done.returncode == 2
    assert "no GPU here" in done.stderr
    assert "Not checked" in done.stderr
    assert not (tmp_path / "work").exists()


def test_with_a_gpu_what_a_dry_run_lacks_is_a_fault(tmp_path: Path) -> None:
    if machine.lacking(Part(("ncu",), (), 1, programs=("ncu",)), Place(ROOT, tmp_path, sys.executable)) == []:
        pytest.skip("ncu is here")
    for name in ("scikit-build-core", "pybind11"):  # without which no dry run goes so far
        installed(tmp_path, name, "99")
    done = called("--dry-run", "ncu", PATH=pretended(tmp_path), PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "lacks ncu" in done.stdout


def test_the_driver_says_what_device_there_is(tmp_path: Path) -> None:
    done = called("summary", "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out"), PATH=pretended(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Some GPU, compute capability 9.0, driver 580.1" in (tmp_path / "out" / "summary.md").read_text("utf-8")


def test_a_gpu_that_is_too_old_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    assert machine.LEAST_CAPABILITY == devices.LEAST_CAPABILITY
    done = called("--work", str(tmp_path / "work"), PATH=pretended(tmp_path, "7.5"))
    assert done.returncode == 2
    assert "compute capability 7.5" in done.stderr
    assert "need compute capability 8.0" in done.stderr
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["profiles"], "build, instructions, smoke"),
        (["profile", "entropie"], "profile entropy bf16"),
    ],
)
def test_an_unknown_stage_is_refused_with_what_there_is(arguments: list[str], words: str) -> None:
    done = called(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    done = called("--dry-run", PYTHON=str(old))
    assert done.returncode == 2
    assert "Python 3.11" in done.stderr


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("raise SystemExit('CUDA is not available: no driver')", "no device"),
        ("import a_module_that_is_renamed", "a_module_that_is_renamed"),
        ("print('all is well')", "all is well"),  # it should not have come to its end
    ],
)
def test_a_stage_that_stops_before_the_device_is_a_fault(
    script: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = Part(("smoke",), (), 1, rehearsal=(sys.executable, "-c", script))
    status = rehearse(Place(ROOT, tmp_path, sys.executable), [part], None)
    line = capsys.readouterr().out
    assert said in line
    assert status == (said != "no device")


def every(stage: str) -> list[Part]:
    return [part for part in stages.parts(Place(ROOT, ROOT / "work", sys.executable)) if part.stage == stage]


def test_the_stage_of_tests_has_the_files_with_tests_for_a_device_and_no_others() -> None:
    pytest.importorskip("torch", reason="torch is not here: its tests for a device are not collected")
    parts = every("test")
    command = [
        *parts[0].rehearsal,
        *(str(path) for path in (ROOT / "tests").rglob("test_*.py") if "cuda" in path.read_text()),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    collected = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert {part.file for part in parts} == collected


def test_no_test_for_a_device_needs_what_a_lent_machine_lacks() -> None:
    """What they import at the top; the dry run above imports them all."""
    for part in every("test"):
        text = (ROOT / part.file).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) (jsonschema|ensurepip)", text, re.MULTILINE), part.file
