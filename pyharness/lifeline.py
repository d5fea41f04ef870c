"""A process that ends with its parent: killed runs leave nothing behind on the cores of whoever is timed next."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time

PR_SET_PDEATHSIG = 1


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
