"""A program that is run to its end, such as git, or pip and its compilers. Its output is kept in a file, or returned.

``child_process`` is for a process that answers requests; this is for one to wait for, within a time limit.
"""

from __future__ import annotations

import math
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pyharness.system import process_tree
from pyharness.types import InputError

LONGEST_SECONDS = 3600.0  # default time limit: a hanging program must not block a machine
MOST_SAID = 256 << 20  # bytes of a program's output: it must fill neither a disk nor the memory
COMPLAINT_BYTES = 4 << 20  # of the end of its standard error
_LOOK_SECONDS = 0.5  # between two checks of the size of its output
_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class SaidTooMuch(InputError):
    """A program was ended, with its descendants, for too much output or memory; ``how`` lacks a subject."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name!r} {how}")
        self.how = how


class OutOfTime(Exception):
    """Time ran out: a program was ended, with its descendants, or ``check_time`` was called; the message says which."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let no program of the block run beyond ``deadline`` (``time.monotonic``), nor beyond that of an outer block."""
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time(what: str) -> None:
    """Raise ``OutOfTime`` if the time of the block (``until``) is over; ``what`` names the activity."""
    if time.monotonic() >= _deadline.get():
        raise OutOfTime(f"time ran out while {what}")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: its exit status (negative: a signal), and its output unless that went to a file."""

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
    memory: int | None = None,
) -> Ran:
    """Run a program with these variables and no others (but our mark), and end the processes it leaves.

    Args:
        command: the program and its arguments.
        environment: all of its variables.
        folder: its working directory.
        given: its standard input.
        log: a file to which all of its output is appended.
        seconds: its time limit, if not ``LONGEST_SECONDS``; less where ``until`` says so.
        memory: bytes that it may hold itself, such as output of others that it keeps; descendants do not count.

    Raises:
        InputError: it cannot be started.
        SaidTooMuch: it writes more than ``MOST_SAID`` bytes, or holds more than ``memory``.
        OutOfTime: it took too long. It is killed without a request to end, which it might ignore.
    """
    begun = time.monotonic()
    limit = max(0.0, min(LONGEST_SECONDS if seconds is None else seconds, _deadline.get() - begun))
    mark = secrets.token_hex(16)
    marks = ",".join(filter(None, (os.environ.get(process_tree.MARK), mark)))
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() if log is None else log.open("ab") as complaints,
        ExitStack() as guarding,
    ):
        source.write(given)
        source.seek(0)
        try:
            tell_guard = guarding.enter_context(process_tree.guarded(mark))
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=source,
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
            tell_guard(process.pid)
            status = _wait_for(process, command[0], limit, (output, complaints), memory)
        except subprocess.TimeoutExpired:
            raise OutOfTime(f"{command[0]!r} was ended after {time.monotonic() - begun:.0f} s") from None
        finally:  # once waited for, a process id may belong to another process
            process_tree.end(process.pid if process.poll() is None else None, mark)
            process.wait()
        output.seek(0)
        if log is not None:
            return Ran(status, b"", "")
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - COMPLAINT_BYTES))
        return Ran(status, output.read(), complaints.read().decode(errors="replace"))


def _wait_for(
    process: subprocess.Popen[bytes], name: str, limit: float, files: Sequence[IO[bytes]], memory: int | None
) -> int:
    """Wait for the end of a process, as long as its time, output and memory are within the limits."""
    until, begun = time.monotonic() + limit, [os.fstat(file.fileno()).st_size for file in files]
    status: int | None = None
    while status is None:
        left = until - time.monotonic()
        try:
            status = process.wait(max(0.0, min(_LOOK_SECONDS, left)))
        except subprocess.TimeoutExpired:
            if left <= _LOOK_SECONDS:
                raise
        written = sum(os.fstat(file.fileno()).st_size - size for file, size in zip(files, begun, strict=True))
        if written > MOST_SAID:
            raise SaidTooMuch(name, f"wrote more than {MOST_SAID:,} bytes")
        if memory is not None and status is None and process_tree.own_resident(process.pid) > memory:
            raise SaidTooMuch(name, f"used more than {memory:,} bytes of memory")
    return status
