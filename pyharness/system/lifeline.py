"""First steps of a child process: it ends with its parent, keeps the processes it starts, and is the first to go.

A killed run leaves no process behind on the cores that the next measurement uses.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
OUT_OF_MEMORY_SCORE = "500"  # of -1000 to 1000: the system, short of memory, ends a child before its parent


def begin() -> None:
    """Settle in: to be called once, at the start of the process."""
    end_with_parent()
    with contextlib.suppress(AttributeError, OSError):  # daemons stay its descendants, so their memory counts
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OUT_OF_MEMORY_SCORE, encoding="ascii")


def end_with_parent() -> None:
    """Ask the system to kill this process when its parent ends, and watch for it where the system cannot."""
    parent = os.getppid()
    with contextlib.suppress(AttributeError, OSError):
        # A thread would wait for the interpreter lock, which a native call may hold for ever: Linux does it better.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended in between
        os._exit(3)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(3)
