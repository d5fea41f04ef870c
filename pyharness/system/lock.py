"""An exclusive lock on an open file or folder; it ends when that is closed, or with the process.

It is the system's ``flock``, in one place. The library filelock locks a descriptor by the same call, but it waits by
polling, and it would be one more dependency for one line.
"""

from __future__ import annotations

import fcntl
from typing import IO


def take(file: int | IO[str] | IO[bytes], *, wait: bool = False) -> bool:
    """Lock an open file; return False if another holds it and ``wait`` is not set.

    Raises:
        OSError: the system cannot lock it, for example on a file system without locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
