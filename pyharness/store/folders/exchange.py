"""Two names of a file system change places, and at no moment is there nothing under either."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_HERE = -100  # AT_FDCWD: paths are those of the process
_EXCHANGE = 2  # RENAME_EXCHANGE
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)  # an old kernel; a file system such as NFS


def exchange(first: Path, second: Path) -> bool:
    """Let two names that are there stand for each other's file or folder; False, and no change, where that cannot be.

    Raises:
        OSError: one is not there, or may not be renamed.

    Source: rename(2) of the Linux manual, RENAME_EXCHANGE.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # of glibc from 2.28 on, and musl
    if renameat2 is None:
        return False
    renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if renameat2(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))
