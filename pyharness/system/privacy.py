"""Keeping this process's variables and memory from others of the same user, such as the code that it starts."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4  # prctl(2); proc(5): /proc/PID/environ and mem ask for it


@contextmanager
def unreadable() -> Iterator[None]:
    """Let no process of this user read ours through ``/proc`` or trace it (Linux); what it executes is as it always is.

    Root reads it all the same, and the process that has started this one is not ours to hide.
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
    with contextlib.suppress(AttributeError, OSError):
        return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
    return None
