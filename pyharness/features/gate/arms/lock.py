"""One gate at a time on a machine: two that measure at once disturb each other, and both would be wrong."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyharness.types import InputError

NAME = "pyharness-gate.lock"
SHARED = Path("/tmp")  # noqa: S108 -- of the machine: TMPDIR may be each job's own
LONGEST = 200  # bytes of what the holder says of itself


def place() -> Path:
    """Return the file that all gates of this machine lock."""
    return (SHARED if os.access(SHARED, os.W_OK) else Path(tempfile.gettempdir())) / NAME


@contextmanager
def alone(*, force: bool = False, path: Path | None = None) -> Iterator[tuple[str, ...]]:
    """Hold the machine for a gate; gives notes: that it is shared, with ``force``.

    Raises:
        InputError: another gate runs, and ``force`` is not set.
    """
    handle = _opened(path or place())
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            who = os.pread(handle, LONGEST, 0).decode("ascii", "replace").strip() or "a process that does not say which"
            if not force:
                raise InputError(
                    f"another gate runs on this machine ({who}), and the two would disturb each other: wait for it, "
                    "or measure all the same with --force"
                ) from None
            yield (f"another gate ran on this machine at the time ({who})",)
        else:
            _sign(handle)
            yield ()
    finally:
        os.close(handle)  # which lets go of the lock; a process that is killed lets go as well


def _opened(path: Path) -> int:
    careful = os.O_NOFOLLOW | os.O_NONBLOCK  # nothing that leads elsewhere, and no FIFO that nobody writes into
    try:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | careful, 0o644)
        except PermissionError:  # another user's file: it can be locked, if not signed
            handle = os.open(path, os.O_RDONLY | careful)
    except OSError as error:
        raise InputError(
            f"{str(path)!r}, which gates of this machine lock, cannot be opened ({error.strerror}): remove it"
        ) from None
    with contextlib.suppress(OSError):  # whatever the umask is: other users lock this file, too
        os.fchmod(handle, 0o644)
    return handle


def _sign(handle: int) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}, since {since}\n".encode("ascii"), 0)
    except OSError:  # opened for reading alone
        return
