"""Folders of processes that were killed. One in use is locked, and the system ends a lock with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path


def clear(folders: Iterable[Path], lock: str = ".") -> None:
    """Remove those of some folders that are ours and that nobody holds any more.

    ``lock``: the file in a folder that is locked, or the folder itself. Without it nobody knows, and the folder stays.
    """
    with contextlib.suppress(OSError):
        for folder in folders:
            if _is_abandoned(folder, folder / lock):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, lock: Path) -> bool:
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
