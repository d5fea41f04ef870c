"""A run in parts that is killed at any moment goes on to the same numbers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cases.command_line import RUN
from divided import runs as divided
from layout.thoroughness import examples
from pyharness import store

pytestmark = pytest.mark.slow


def ended(words: list[str], seconds: float) -> int:
    """Kill a command after a time, unless it ends before; return its status."""
    process = subprocess.Popen([*RUN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.wait()


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_goes_on_to_the_same_numbers(tmp_path: Path, seed: int) -> None:
    divided.write_texts(tmp_path, 30)
    suite = divided.write_suite(tmp_path, ["raw_bytes", "patches:space"], ["rows.jsonl", "plain"])
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    output, moments = tmp_path / "record.json", random.Random(seed)
    folder, kills, status = output.with_name(f"{output.name}.parts"), 0, 1
    while status != 0:
        words = ["run", str(suite), "--parts", "6", "-q", "-o", str(output), *(["--resume"] if folder.exists() else [])]
        status = ended(words, moments.uniform(0.5, 2.5) if kills < examples(20) else 300)
        kills += status == -signal.SIGKILL
        assert status in (0, -signal.SIGKILL)
    assert kills
    divided.assert_equal(store.read(output), expected)
    assert not folder.exists()
    time.sleep(1)
    assert not _left(str(tmp_path))


def _left(mark: str) -> list[str]:
    """Command lines of processes that name a folder."""
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            lines += [line] if mark in line else []
    return lines
