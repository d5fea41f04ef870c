"""A cluster of Ray on this machine: records to the last bit, and what becomes of a run whose processes are killed."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases.command_line import RUN, program
from divided import runs as divided
from pyharness import store

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]


def processes(session: int) -> Iterator[tuple[int, str]]:
    """Ids and command lines of the processes of the sessions that a process has started."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                about = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if int(about[3]) == session and about[0] != b"Z":
                yield int(entry.name), line


def drivers(command: int) -> list[int]:
    """Ids of the drivers of a command."""
    children = Path(f"/proc/{command}/task/{command}/children").read_text(encoding="ascii").split()
    lines = {int(one): Path(f"/proc/{one}/cmdline").read_bytes() for one in children if Path(f"/proc/{one}").exists()}
    return [process for process, line in lines.items() if b"ray_cluster" in line]


def waited_for(what: str, command: subprocess.Popen[str]) -> tuple[int, int]:
    """Return the session of the driver, and the id of its first process of a kind, once there is one."""
    for _ in range(600):
        for driver in drivers(command.pid) if command.poll() is None else ():
            for process, line in processes(driver):
                if re.search(what, line):
                    return driver, process
        time.sleep(0.1)
    raise AssertionError(f"there is no {what}")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    divided.write_texts(tmp_path, 40)
    return divided.write_suite(tmp_path, ["raw_bytes", "patches:space"], ["rows.jsonl", "plain"])


def test_the_record_is_that_of_one_process(suite: Path, tmp_path: Path) -> None:
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    output = tmp_path / "ray.json"
    done = program("run", str(suite), "--parts", "5", "--on", "ray", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    divided.assert_equal(store.read(output), expected)
    assert not output.with_name(f"{output.name}.parts").exists()


@pytest.mark.parametrize("what", ["ray::do_part", r"raylet/raylet ", r"gcs_server "])
def test_a_killed_process_ends_nothing_but_perhaps_the_run(suite: Path, tmp_path: Path, what: str) -> None:
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    output = tmp_path / "ray.json"
    words = ["run", str(suite), "--parts", "12", "--on", "ray", "-o", str(output)]
    with subprocess.Popen([*RUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        waited_for("ray::do_part", command)
        session, process = waited_for(what, command)
        os.kill(process, signal.SIGKILL)
        _, said = command.communicate()
    assert list(processes(session)) == []
    assert "Traceback" not in said
    if command.returncode:
        assert what != "ray::do_part", said
        assert command.returncode == 1
        assert "--resume" in said
        done = program(*words[:4], "-q", "-o", str(output), "--resume")
        assert done.returncode == 0, done.stderr
    else:
        assert "try 1 of 3" in said
    divided.assert_equal(store.read(output), expected)
