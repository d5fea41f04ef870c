"""The check for machines with a GPU: how far it comes without one, and what it does on a machine that is lent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from device import machine, stages
from device.rehearsal import rehearse
from device.stages import Part, Place

from pyharness.kernels import devices

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench" / "gpu_check.sh"
STAGES = ["build", "instructions", "smoke", "test", "memcheck", "racecheck", "profile", "ncu"]
MARKED = "pytest.mark" + ".cuda"  # in two: this file has no test for a device


def called(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, **variables}
    return subprocess.run([str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """Modules that a machine may lack, in a folder for PYTHONPATH."""
    for name in ("jsonschema", "ensurepip"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n", encoding="utf-8")
    return tmp_path


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


def test_without_a_gpu_nothing_is_built(tmp_path: Path, no_gpu: None) -> None:
    done = called("--work", str(tmp_path / "work"))
    assert done.returncode == 2
    assert "no GPU here" in done.stderr
    assert "Not checked" in done.stderr
    assert not (tmp_path / "work").exists()


def test_with_a_gpu_what_a_dry_run_lacks_is_a_fault(tmp_path: Path) -> None:
    if machine.lacking(Part(("ncu",), (), 1, programs=("ncu",)), Place(ROOT, tmp_path, sys.executable)) == []:
        pytest.skip("ncu is here")
    done = called("--dry-run", "ncu", PATH=pretended(tmp_path))
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


def test_kernels_whose_races_are_meant_are_there() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "csrc" / "kernels" / "pairs").glob("*.*"))
    assert all(f" {name}(" in sources for name in stages.INTENDED_RACES)


def test_marks_come_from_where_the_stage_of_tests_looks() -> None:
    chosen = {part.words[1] for part in every("test")}
    files = [path for path in (ROOT / "tests").rglob("*.py") if MARKED in path.read_text(encoding="utf-8")]
    givers = {path.stem for path in files if not path.name.startswith("test_")}
    assert givers == {"backends", "pair_counts"}, "name the new one in stages.ON_A_DEVICE"
    assert {str(path.relative_to(ROOT)) for path in files if path.name.startswith("test_")} <= chosen


def test_no_test_for_a_device_needs_what_a_lent_machine_lacks() -> None:
    """What they import at the top; the dry run above imports them all."""
    for part in every("test"):
        text = (ROOT / part.words[1]).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) (jsonschema|ensurepip)", text, re.MULTILINE), part.words[1]
