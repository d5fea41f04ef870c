"""Scripts ask for the missing parts and no others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cases.command_line import call
from divided import runs as divided
from pyharness.features.parts.executors import parallel, slurm
from pyharness.types import InputError


def asked(script: str) -> list[int]:
    """The parts that the arrays of a script stand for."""
    parts: list[int] = []
    for tasks, command in re.findall(r"--array=([0-9,-]+)\S* .*--wrap=(.*)", script):
        first = int(number[1]) if (number := re.search(r"\$\(\((\d+) \+", command)) else 0
        for one in tasks.split(","):
            low, _, high = one.partition("-")
            parts += [first + task for task in range(int(low), int(high or low) + 1)]
    return parts


@pytest.mark.parametrize(
    "missing", [[0], [3, 4, 9], list(range(1000)), list(range(0, 4000, 3)), [999, 1000, 1001], [123456]]
)
def test_arrays_have_the_missing_parts(missing: list[int]) -> None:
    script = slurm(Path("run"), missing, None)
    assert asked(script) == missing
    arrays = re.findall(r"--array=(\S+)", script)
    assert all(int(number) < 1000 for array in arrays for number in re.findall(r"\d+", array))
    assert "%" not in script
    assert "%7 " in slurm(Path("run"), missing, 7)


def test_no_array_without_a_task() -> None:
    assert "sbatch" not in slurm(Path("run"), [], None)
    assert "parallel" not in parallel(Path("run"), [], 3).replace("pyharness", "")


def test_a_folder_with_odd_characters_is_one_word(tmp_path: Path) -> None:
    folder = tmp_path / "it's $(touch odd)"
    for script in (slurm(folder, [1, 1001], 2), parallel(folder, [1], None)):
        stubs = 'sbatch() { for word; do case $word in --wrap=*) sh -c "${word#--wrap=}";; esac; done; }\n'
        stubs += "parallel() { :; }\ncd() { :; }\n"
        program = tmp_path / "pyharness"
        program.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done >> {tmp_path}/said\n', encoding="utf-8")
        program.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "1"}
        subprocess.run(["/bin/sh", "-c", stubs + script], check=True, cwd=tmp_path, env=environment)
    assert not (tmp_path / "odd").exists()
    said = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert said == ["work", str(folder), "--part", "1", "work", str(folder), "--part", "1001"]


@pytest.mark.parametrize("script", [slurm, parallel])
def test_a_name_that_would_end_a_line_is_refused(script: Any) -> None:
    with pytest.raises(InputError, match="rename it"):
        script(Path("evil\ntouch odd"), [1], None)


def test_braces_in_a_name_are_no_template() -> None:
    command = parallel(Path("a{}b {.}"), [1], None).splitlines()
    assert [line for line in command if "{}" in line and line.startswith("parallel")]
    assert not [line for line in command if line.startswith("parallel") and "a{}b" in line]


@pytest.mark.parametrize("kind", ["slurm", "parallel"])
def test_the_command_prints_a_script_of_what_is_missing(tmp_path: Path, kind: str) -> None:
    divided.write_texts(tmp_path, 6)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 3, tmp_path / "run")
    divided.worked(tmp_path / "run", 1)
    done = call("plan", str(tmp_path / "run"), "--script", kind, "--at-once", "2")
    assert done.returncode == 0, done.stderr
    if kind == "slurm":
        assert asked(done.stdout) == [0, 2]
    else:
        assert re.search(r"\n0\n2\nPARTS\n", done.stdout)
