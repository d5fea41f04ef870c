"""The check's real commands with programs that stand in for a GPU's: each may fail, hang, or report calls that failed.

Stages end as they should, whatever the programs do. Nothing is built and no test is run: pip and the cases are made up.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from device import hazards, machine
from device.__main__ import main
from device.stages import Part, Place, parts

from lent.checks import BENCH, kept, place, run, verdicts

__all__ = ["place"]  # the fixture
# Runs nvcc, as CMake does; then leaves what pip would.
PIP = """
import pathlib, subprocess, sys
command, *arguments = sys.argv[1:]
after = dict(zip(arguments, arguments[1:]))
if command == "wheel":
    if status := subprocess.run(["nvcc"]).returncode:
        sys.exit(status)
    wheels = pathlib.Path(after["--wheel-dir"])
    wheels.mkdir(parents=True)
    (wheels / "our-1.whl").write_text("a wheel")
else:
    (pathlib.Path(after["--target"]) / "pyharness").mkdir(parents=True)
"""
# Does not instrument anything, but reports as the real one does what an option has not switched off.
SANITIZER = """
case "$*" in
  *--help*) echo "  --kernel-regex arg\n  --report-api-errors arg (=explicit)"; exit 0;;
esac
echo "$@" > "{words}"
case "$*" in
  *"--report-api-errors no"*) ;;
  *) echo "========= Program hit cudaErrorInvalidValue on CUDA API call to cudaPointerGetAttributes"; exit 9;;
esac
"""


@pytest.fixture
def programs(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the head of PATH, with programs that all succeed and do next to nothing."""
    folder, modules = tmp_path / "programs", tmp_path / "modules"
    for name in ("nvcc", "cmake", "ninja", "c++", "ncu"):
        stand_in(folder, name, "exit 0")
    stand_in(folder, hazards.SANITIZER, SANITIZER.format(words=tmp_path / "words"))
    modules.mkdir()
    (modules / "pip.py").write_text(PIP, encoding="utf-8")
    (place.root / "csrc").symlink_to(BENCH.parent / "csrc")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", f"{modules}{os.pathsep}{BENCH}")
    lacking = machine.lacking
    monkeypatch.setattr(machine, "lacking", lambda part, place: lacking(replace(part, modules=()), place))
    return folder


def stand_in(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def of_stage(place: Place, stage: str, limit: int | None = None) -> list[Part]:
    """The build, and the first part of a stage."""
    build, *others = parts(place)
    last = build if stage == "build" else next(part for part in others if part.stage == stage)
    return [*([] if last is build else [build]), replace(last, limit=limit or last.limit)]


def verdict_of(place: Place, stage: str) -> tuple[str, str]:
    (result,) = (one for one in kept(place).values() if one["part"][0] == stage)
    return result["verdict"], result["detail"]


@pytest.mark.parametrize("stage", ["build", "memcheck", "racecheck", "ncu"])
def test_programs_that_succeed_are_called_with_what_their_stage_is_for(
    stage: str, place: Place, programs: Path, tmp_path: Path
) -> None:
    assert run(place, of_stage(place, stage)) == 0
    assert set(verdicts(place).values()) == {"passed"}
    assert (place.work / "our-1.whl").exists()
    if stage.endswith("check"):
        words = (tmp_path / "words").read_text(encoding="utf-8")
        assert f"--tool {stage} --error-exitcode 9 --kernel-regex kns=pyharness --report-api-errors no" in words


OLD_SANITIZER = SANITIZER.replace("--report-api-errors arg", "--an-old-version arg")
FAILED_CALL = "status 9.*Program hit cudaErrorInvalidValue"
NO_KERNELS = 'echo "==WARNING== No kernels were profiled."'
FAILS, HANGS = "echo what went wrong >&2; exit 1", "exec sleep 60"


@pytest.mark.parametrize(
    ("stage", "program", "script", "verdict", "said", "status"),
    [
        ("build", "nvcc", FAILS, "failed", "status 1.*what went wrong", 1),
        ("build", "nvcc", HANGS, "timed out", "after 1 s", 3),
        ("memcheck", hazards.SANITIZER, FAILS, "failed", "status 1.*what went wrong", 1),
        ("memcheck", hazards.SANITIZER, HANGS, "timed out", "after 1 s", 3),
        ("memcheck", hazards.SANITIZER, OLD_SANITIZER.format(words="/dev/null"), "failed", FAILED_CALL, 1),
        ("racecheck", hazards.SANITIZER, FAILS, "failed", "status 1.*what went wrong", 1),
        ("racecheck", hazards.SANITIZER, HANGS, "timed out", "after 1 s", 3),
        ("ncu", "ncu", FAILS, "failed", "status 1.*what went wrong", 1),
        ("ncu", "ncu", HANGS, "timed out", "after 1 s", 3),
        ("ncu", "ncu", NO_KERNELS, "failed", "No kernels were profiled", 1),
    ],
)
def test_a_program_that_fails_or_hangs_ends_its_stage_alone(
    stage: str, program: str, script: str, verdict: str, said: str, status: int, place: Place, programs: Path
) -> None:
    stand_in(programs, program, script)
    assert run(place, of_stage(place, stage, limit=1 if script == HANGS else None)) == status
    found = verdict_of(place, stage)
    assert found[0] == verdict
    assert re.search(said, found[1], re.DOTALL)
    assert stage == "build" or verdict_of(place, "build")[0] == "passed"
    assert (place.work / "results.zip").exists()


@pytest.mark.parametrize("script", ["exit 9", HANGS, "echo NVIDIA-SMI has failed: no driver", "echo 'A GPU, [N/A]'"])
def test_a_driver_that_lists_no_gpu_ends_the_call_before_anything_is_built(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(tmp_path / "programs", "nvidia-smi", script)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    monkeypatch.setattr(machine, "ANSWER_SECONDS", 0.3 if script == HANGS else 20.0)
    assert main(["--work", str(tmp_path / "work")]) == 2
    assert "no GPU here" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
