"""One command within a time limit: its output in a file, and nothing of it left running afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

MARK = "PYHARNESS_GPU_CHECK"  # in the environment of all that the check starts: the folder that it works in
GRACE_SECONDS = 5.0  # between asking to end and ending
LAST_WORDS = 300  # characters of an output


class Ended(BaseException):
    """The check itself was told to end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    status: int | None  # None: it was ended, here or by a signal to the check
    seconds: float
    told: bool = False  # the check was told to end meanwhile


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, seconds: float) -> Outcome:
    """Run ``command`` in ``folder`` for ``seconds`` at most; standard output and error are added to ``log`` at once."""
    started = time.monotonic()
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        except OSError as error:
            output.write(f"cannot start {command[0]}: {error}\n".encode())
            return Outcome(127, time.monotonic() - started)
        status, told = None, False
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        except Ended:
            told = True
        finally:
            end_group(process.pid)
            process.wait()
    return Outcome(status, time.monotonic() - started, told)


def last_words(text: str) -> str:
    """Return the end of an output in one line."""
    return " ".join(text.split())[-LAST_WORDS:]


def end_group(group: int) -> None:
    """Ask all processes of a group to end, then end them."""
    until = time.monotonic() + GRACE_SECONDS
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        while time.monotonic() < until and _alive(group):
            time.sleep(0.05)
        os.killpg(group, signal.SIGKILL)


def _alive(group: int) -> bool:
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                return True
    return False


def end_remains(work: Path) -> int:
    """End what an earlier check in this folder has left running because it was killed; returns how many processes."""
    entry = f"{MARK}={work}".encode()
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
                count += 1
    return count


@contextlib.contextmanager
def told_to_end() -> Iterator[None]:
    """Within this block Ctrl-C and SIGTERM raise ``Ended``."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Ended

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
