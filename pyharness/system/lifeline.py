"""Requests of a process to the system: to end with its parent, to keep its descendants, to hide its memory.

A child first calls ``begin``: a killed run leaves no process on the cores that the next measurement uses. A request to
end becomes an exception (``politely``), so that partial work is undone, children end, and a journal is kept.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
OUT_OF_MEMORY_SCORE = "500"  # of -1000 to 1000: when memory is short, the system ends a child before its parent
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4  # prctl(2); proc(5): /proc/PID/environ and mem ask for it


def begin() -> None:
    """Prepare the process: call this once, at its start."""
    end_with_parent()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)  # daemons stay its descendants, so their memory counts
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OUT_OF_MEMORY_SCORE, encoding="ascii")


def end_with_parent() -> None:
    """Ask the system to kill this process when its parent ends; also poll for that, as not every system can."""
    parent = os.getppid()
    # A thread would wait for the interpreter lock, which a native call may hold for ever: Linux avoids that.
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended in between
        os._exit(3)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(3)


@contextmanager
def unreadable() -> Iterator[None]:
    """Keep other processes of this user from reading this one through ``/proc`` or tracing it (Linux).

    Programs that it executes are as readable as always. Root can still read it. The process that started this one is
    not ours to hide.
    """
    before = _prctl(PR_GET_DUMPABLE, 0)
    if before == 1:
        _prctl(PR_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if before == 1:
            _prctl(PR_SET_DUMPABLE, 1)


def _prctl(option: int, value: int) -> int | None:
    import ctypes  # help needs neither this nor other libraries that are imported where they are used

    with contextlib.suppress(AttributeError, OSError):
        return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
    return None


REQUESTS = (signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """The process was asked to end; its exit status is 128 plus the number of the signal, as in shells."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number)


@contextmanager
def politely() -> Iterator[None]:
    """Raise ``Ended`` at SIGTERM or SIGHUP, once: later signals do not disturb the clean-up.

    Signals that are ignored (``nohup``) or handled stay so. Outside the main thread this has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in REQUESTS if signal.getsignal(number) is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    for other in REQUESTS:
        if signal.getsignal(other) is _end:
            signal.signal(other, signal.SIG_IGN)
    raise Ended(number)
