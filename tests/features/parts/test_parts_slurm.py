"""A real Slurm does the parts of a script."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from cases.command_line import RUN, call
from divided import runs as divided
from pyharness import store

SECONDS = 900.0  # for all tasks


def answers() -> bool:
    """Whether a controller of Slurm has a node that takes tasks."""
    if (sinfo := shutil.which("sinfo")) is None:
        return False
    asked = subprocess.run(
        [sinfo, "--noheader", "--states=idle,mixed"], capture_output=True, text=True, timeout=60, check=False
    )
    return bool(asked.returncode == 0 and asked.stdout.strip())


@pytest.mark.slow
@pytest.mark.skipif(not answers(), reason="no Slurm with a free node answers here")
def test_an_array_has_the_numbers_of_one_process(tmp_path: Path) -> None:
    divided.write_texts(tmp_path)
    rows = ("raw_bytes", "deepseek", "native+deepseek", "mistral:tekken", "patches:space")
    suite = divided.write_suite(tmp_path, rows)
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    folder, output = tmp_path / "run", tmp_path / "record.json"
    divided.planned(suite, 7, folder)
    divided.worked(folder, 4)  # which the array leaves out
    program = tmp_path / "pyharness"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(RUN)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = call("plan", str(folder), "--script", "slurm", "--at-once", "2").stdout
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SBATCH_OUTPUT": str(tmp_path / "%a.log")}
    subprocess.run(["/bin/sh", "-c", script], check=True, cwd=tmp_path, env=environment)
    end = time.monotonic() + SECONDS
    while len(list(folder.glob("*.done.json"))) < 7 and time.monotonic() < end:
        time.sleep(1)
    merged = call("merge", str(folder), "-q", "-o", str(output))
    assert merged.returncode == 0, merged.stderr
    divided.assert_equal(store.read(output), expected)
