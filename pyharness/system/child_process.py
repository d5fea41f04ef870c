"""A child process: started, read within time and memory limits, and ended with all its descendants.

Tokenizer libraries are measured in one. Its standard output is a protocol of lines. For the parent, the output ends
with the process, although a grandchild may hold the pipe open for ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeVar

from pyharness.system import process_tree
from pyharness.system.environment import available_memory_bytes, memory_bytes
from pyharness.system.threads import Stopped
from pyharness.types import InputError

THIS = (sys.executable, "-P", "-m")  # -P: nothing in the current folder shadows a library
POLL_SECONDS = 0.1  # between two checks of a child's memory: a child that fills 4 GB/s is noticed 0.4 GB late
LONGEST_LINE = 64 << 20  # bytes: no message of ours comes near
COMPLAINTS_KEPT = 16 << 20  # bytes of standard error on disk; a library that repeats itself must not fill it
LAST_WORDS = 4000  # bytes of standard error that are read
BLOCK = 1 << 16
GRACE_SECONDS = 10.0  # time to end for a process that has closed its output
FREE_SHARE = 0.75  # of the memory that is free when a child starts: the default limit

Answer = TypeVar("Answer")


class ChildDied(Exception):
    """The process ended, was ended or wrote something invalid; the message says how, and lacks a subject."""


class Overdue(ChildDied):
    """The process was ended because it did not answer, or did not read, in time."""


def default_memory_limit() -> int | None:
    """Return a child's default memory limit in bytes: a share of what is free now, or else of all; None if unknown."""
    free = available_memory_bytes() or memory_bytes()
    return None if free is None else int(free * FREE_SHARE)


class Child:
    """One process and its pipes: ``python -m MODULE ARGUMENTS``, or the command as another ``program`` runs it.

    Args:
        command: a module and its arguments, or arguments of ``program``.
        program: the executable; this interpreter by default.
        folder: its working directory; that of this process by default.
        environment: variables in addition to those of this process, or all of them (but our mark) with ``bare``.
        bare: whether it inherits no variable.
        memory_limit: bytes that it may hold with its descendants; ``default_memory_limit()`` by default.
        asked: whether its standard input is a pipe; otherwise it is empty.

    Raises:
        InputError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        program: Sequence[str] | None = None,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        bare: bool = False,
        memory_limit: int | None = None,
        asked: bool = False,
    ) -> None:
        self.memory_limit = default_memory_limit() if memory_limit is None else memory_limit
        self.mark = secrets.token_hex(16)
        self._buffer = bytearray()
        self._searched = 0
        self._looked = 0.0
        self._open = True
        self._stderr: IO[bytes] | None = None
        marks = ",".join(filter(None, (os.environ.get(process_tree.MARK), self.mark)))  # a child's child has both
        try:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
            self.process = subprocess.Popen(
                [*(THIS if program is None else program), *command],
                cwd=folder,
                stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                env={**({} if bare else os.environ), **(environment or {}), process_tree.MARK: marks},
                start_new_session=True,  # Ctrl-C is for the parent, which then ends its children
            )
        except OSError as error:
            if self._stderr is not None:
                self._stderr.close()
            raise InputError(f"cannot start a process to work in: {error.strerror or error}") from None
        assert self.process.stdout is not None  # noqa: S101 -- a pipe was asked for
        self._output = self.process.stdout.fileno()
        os.set_blocking(self._output, False)

    def tell(self, line: bytes, deadline: float = float("inf")) -> None:
        """Write a line to its standard input; raise ``ChildDied`` if it ends, or does not read before ``deadline``."""
        assert self.process.stdin is not None  # noqa: S101 -- a pipe was asked for
        pipe = self.process.stdin.fileno()
        os.set_blocking(pipe, False)
        left = memoryview(line + b"\n")
        while left:
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                self._check(deadline)
                if self.process.poll() is not None:  # another process holds the pipe
                    raise ChildDied(self._post_mortem()) from None
                _ready(pipe, select.POLLOUT, POLL_SECONDS)
            except OSError:
                raise ChildDied(self._post_mortem()) from None

    def ask(self, request: bytes, is_news: Callable[[Any], bool], deadline: float = float("inf")) -> tuple[bytes, Any]:
        """Write a line; return the first line that is not news, with its JSON value.

        ``is_news`` gets every value.

        Raises ``ChildDied`` if the child ends first, or writes what is no JSON; see ``listen``.
        """
        if self._stderr is not None:
            os.ftruncate(self._stderr.fileno(), 0)  # complaints about earlier requests
        self.tell(request, deadline)
        while (line := self.listen(deadline)) is not None:
            try:
                message = json.loads(line.decode())
            except (ValueError, RecursionError):
                raise ChildDied(f"wrote an invalid message: {line[:80]!r}") from None
            if not is_news(message):
                return line, message
        raise ChildDied("ended with status 0 and without an answer")

    def listen(self, deadline: float = float("inf")) -> bytes | None:
        """Return the next line of its standard output, without the newline; None when it has ended well.

        Raises:
            ChildDied: it ended badly, is over a limit, or wrote no line before ``deadline`` (``time.monotonic``).
        """
        while True:
            if (line := self._take()) is not None:
                return line
            self._check(deadline)
            ended = self.process.poll() is not None  # before reading: its last output is still to be read
            if self._read(0.0 if ended else POLL_SECONDS):
                continue
            if ended or not self._open:
                how = self._post_mortem()
                if self.process.returncode != 0:
                    raise ChildDied(how)
                return None

    def _take(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._searched)
        self._searched = len(self._buffer)  # avoids a second search of a long line at every block
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _read(self, seconds: float) -> bool:
        """Read the available output, after a wait of up to ``seconds``; return False if there was no output."""
        if not self._open:
            time.sleep(seconds)
            return False
        if not _ready(self._output, select.POLLIN | select.POLLHUP, seconds):
            return False
        block = os.read(self._output, BLOCK)
        self._open = bool(block)
        self._buffer += block
        return bool(block)

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            self.close()
            raise Overdue("wrote nothing within the time limit")
        if len(self._buffer) > LONGEST_LINE:
            self.close()
            raise ChildDied(f"wrote more than {LONGEST_LINE:,} bytes at once")
        if time.monotonic() - self._looked <= POLL_SECONDS:
            return
        if self.memory_limit is not None and process_tree.resident(self.process.pid) > self.memory_limit:
            self.close()
            raise ChildDied(f"was stopped at {self.memory_limit / 1e9:.3g} GB of memory (memory_limit)")
        if self._stderr is not None and os.fstat(self._stderr.fileno()).st_blocks * 512 > COMPLAINTS_KEPT:
            os.ftruncate(self._stderr.fileno(), 0)
        self._looked = time.monotonic()

    def _post_mortem(self) -> str:
        try:
            status = self.process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it closed a pipe and lives on
            return "stopped answering"
        return ending(status, self.complaints())

    def complaints(self) -> str:
        """Return the end of its standard error."""
        if self._stderr is None:
            return ""
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - LAST_WORDS))
        return self._stderr.read().decode(errors="replace").replace("\0", "")

    def close(self) -> None:
        """End the process and all its descendants."""
        # Once waited for, the process id may belong to another process.
        process_tree.end(self.process.pid if self.process.poll() is None else None, self.mark)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._stderr, self._open = None, False


class Asked:
    """Children that answer requests, one child at a time: each serves until something ends it.

    A request that fails in a child that has served requests of other names, or ends it, is tried again in a fresh one.
    Earlier requests may have used up its file handles or broken a library; each must fail only by itself.
    """

    def __init__(self) -> None:
        self.child: Child | None = None
        self.served: list[str] = []  # names of the requests that the child has served
        self._stopped = False

    def ask(
        self, name: str, start: Callable[[], Child], ask: Callable[[Child], Answer], failed: Callable[[Answer], bool]
    ) -> Answer:
        """Return what ``ask`` gets from the child, or from one that ``start`` makes; may retry where ``failed`` holds.

        Raises:
            ChildDied: a child that had served no request of another name died.
            Stopped: ``stop`` was called.
        """
        try:
            child = self.child = self.child or start()
            self.served.append(name)
            answer = ask(child)
            if not failed(answer) or set(self.served) == {name}:
                return answer
        except ChildDied:
            if self._stopped:
                raise Stopped from None
            if set(self.served) == {name}:
                self.leave()
                raise
        except BaseException:
            self.leave()
            raise
        self.leave()
        return self.ask(name, start, ask, failed)

    def stop(self) -> None:
        """End the current request, from another thread."""
        self._stopped = True
        if (child := self.child) is not None:
            child.process.kill()

    def leave(self) -> None:
        """End the child, if there is one."""
        if self.child is not None:
            self.child.close()
        self.child, self.served = None, []


class PreparationLane(Asked):
    """Children in which one thread prepares rows, one after another; ``side_by_side`` lanes share this machine."""

    def __init__(self, side_by_side: int = 1) -> None:
        super().__init__()
        self.side_by_side = side_by_side

    @contextmanager
    def used(self) -> Iterator[None]:
        """Be the :func:`current_lane` of this thread, for whatever prepares a row, and end the child afterwards."""
        before = _PREPARATION_LANE.set(self)
        try:
            yield
        finally:
            _PREPARATION_LANE.reset(before)
            self.leave()


_PREPARATION_LANE: ContextVar[PreparationLane | None] = ContextVar("lane", default=None)


def current_lane() -> PreparationLane | None:
    """Return the lane that this thread uses."""
    return _PREPARATION_LANE.get()


def said_by(command: Sequence[str]) -> Iterator[bytes]:
    """Yield the lines that ``python -m`` with these arguments writes; raise ``ChildDied`` if it does not end well."""
    child = Child(command)
    try:
        while (line := child.listen()) is not None:
            yield line
    finally:
        child.close()


def _ready(file: int, events: int, seconds: float) -> bool:
    poll = select.poll()  # select() does not support descriptors from 1,024 on
    poll.register(file, events)
    return bool(poll.poll(seconds * 1000))


def ending(status: int, stderr: str) -> str:
    """Describe how a process ended, with the last line of its standard error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if status == -signal.SIGKILL:
        how += " (by the system, perhaps for lack of memory, or by somebody)"
    return how + (f": {lines[-1][:300]}" if lines else "")
