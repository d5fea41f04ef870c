"""A program that is run to its end: git, or pip and the compilers behind it. What it says is kept, or returned.

``child_process`` is for a process that is asked things; this is for one that is waited for, and never for ever.
"""

from __future__ import annotations

import math
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from pyharness.system import process_tree
from pyharness.types import InputError

LONGEST_SECONDS = 3600.0  # that a program gets where nobody says: a hanging one must not hold a machine
_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(Exception):
    """A program was ended, with all that it had started, because its time was over; the message says which and when."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let no program of the block run beyond ``deadline`` (``time.monotonic``), nor beyond that of a block around."""
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time(what: str) -> None:
    """Raise ``OutOfTime`` where the time of the block (``until``) is over, while ``what`` is done."""
    if time.monotonic() >= _deadline.get():
        raise OutOfTime(f"time ran out while {what}")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: its exit status (negative: a signal), and what it said where that went to no file."""

    status: int
    output: bytes
    complaints: str


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    given: bytes = b"",
    log: Path | None = None,
    seconds: float | None = None,
) -> Ran:
    """Run a program with these variables and no others (but our mark), and end what it leaves running.

    Args:
        command: the program and its arguments.
        environment: all of its variables.
        folder: where it works.
        given: its standard input.
        log: a file to which it writes all that it says.
        seconds: the longest that it may take, if not ``LONGEST_SECONDS``; less where ``until`` says so.

    Raises:
        InputError: it cannot be started.
        OutOfTime: it took too long. It is killed, and not asked to end: it might not listen.
    """
    begun = time.monotonic()
    limit = max(0.0, min(LONGEST_SECONDS if seconds is None else seconds, _deadline.get() - begun))
    mark = secrets.token_hex(16)
    marks = ",".join(filter(None, (os.environ.get(process_tree.MARK), mark)))
    with (
        tempfile.TemporaryFile() as asked,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() if log is None else log.open("ab") as complaints,
    ):
        asked.write(given)
        asked.seek(0)
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=asked,
                stdout=output if log is None else complaints,
                stderr=complaints,
                env={**environment, process_tree.MARK: marks},
                start_new_session=True,  # Ctrl-C is for this process, which then ends the program
            )
        except OSError as error:
            raise InputError(
                f"cannot run {command[0]!r}: {error.strerror or error}; install it, or look at PATH"
            ) from None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            raise OutOfTime(f"{command[0]!r} was ended after {time.monotonic() - begun:.0f} s") from None
        finally:  # a number that was waited for may be another process's by now
            process_tree.end(process.pid if process.poll() is None else None, mark)
            process.wait()
        output.seek(0)
        if log is not None:
            return Ran(status, b"", "")
        complaints.seek(0)
        return Ran(status, output.read(), complaints.read().decode(errors="replace"))
