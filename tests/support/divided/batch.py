"""Arrays of tasks that are submitted, waited for and killed: by a real Slurm where one answers, or by a stand-in."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cases.command_line import RUN, call

SBATCH = """#!{python}
import os, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

words = dict(re.fullmatch("--([a-z]+)=(.*)", word, re.DOTALL).groups() for word in sys.argv[1:])
tasks, _, at_once = words["array"].partition("%")
ranges = [one.partition("-") for one in tasks.split(",")]
numbers = [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


def run(number):
    environment = {{**os.environ, "SLURM_ARRAY_TASK_ID": str(number)}}
    with open(f"{log}.{{number}}.log", "w") as log:
        subprocess.run(
            ["/bin/sh", "-c", words["wrap"]], cwd=words["chdir"], env=environment, start_new_session=True,
            stdout=log, stderr=log,
        )


print("Submitted batch job 1", flush=True)
if not os.fork():
    os.setsid()
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    with ThreadPoolExecutor(int(at_once or len(numbers))) as pool:
        list(pool.map(run, numbers))
"""


def answers() -> bool:
    """Whether a controller of a real Slurm has a node that takes tasks."""
    if (sinfo := shutil.which("sinfo")) is None:
        return False
    with contextlib.suppress(subprocess.TimeoutExpired):
        asked = subprocess.run(
            [sinfo, "--noheader", "--states=idle,mixed"], capture_output=True, text=True, timeout=5, check=False
        )
        return bool(asked.returncode == 0 and asked.stdout.strip())
    return False


class Batch:
    """Submits what is missing of a folder of parts. ``real``: to Slurm, or else to a stand-in for one node."""

    def __init__(self, scratch: Path, *, real: bool) -> None:
        self.real, self._numbers = real, list[str]()
        programs = scratch / "programs"
        programs.mkdir()
        _write(programs / "pyharness", f'#!/bin/sh\nexec {shlex.join(RUN)} "$@"\n')
        if not real:
            _write(programs / "sbatch", SBATCH.format(python=sys.executable, log=scratch / "task"))
        self._mark = f"PARTS_OF={scratch}"
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PARTS_OF": str(scratch)}
        self._environment["SBATCH_OUTPUT"] = str(scratch / "task.%a.log")

    def submit(self, folder: Path, at_once: int) -> None:
        """Submit the parts of a folder that are missing."""
        script = call("plan", str(folder), "--script", "slurm", "--at-once", str(at_once)).stdout
        asked = ["/bin/sh", "-c", script]
        said = subprocess.run(
            asked, check=True, cwd=folder.parent, env=self._environment, stdout=subprocess.PIPE, text=True
        ).stdout
        self._numbers = [line.split()[-1] for line in said.splitlines() if "batch job" in line]

    def is_done_within(self, seconds: float) -> bool:
        """Wait until no task is left, at most for a time; return whether none is."""
        end = time.monotonic() + seconds
        while (left := self._is_busy()) and time.monotonic() < end:
            time.sleep(0.1)
        return not left

    def _is_busy(self) -> bool:
        if not self.real:
            return any(self._processes(b"sbatch"))
        asked = ["squeue", "--noheader", "--jobs", ",".join(self._numbers)]
        return bool(subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip())

    def kill(self) -> None:
        """Forget tasks that wait, and kill those that run here: scancel would first ask them to end."""
        for number in self._numbers if self.real else []:
            asked = [str(shutil.which("scancel")), "--state=PENDING", number]
            subprocess.run(asked, check=False, capture_output=True)
        for what in (b"sbatch", b"\0work\0"):  # first what would begin others
            for process in self._processes(what):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        assert self.is_done_within(60)

    def _processes(self, what: bytes) -> Iterator[int]:
        """Ids of processes with ``what`` in their command lines that came of this batch."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                is_meant = entry.name.isdecimal() and what in (entry / "cmdline").read_bytes()
                if is_meant and self._mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
