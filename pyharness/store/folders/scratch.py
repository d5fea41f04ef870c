"""A folder for what a run needs for a while. Killed, a run leaves it; the next one clears it away."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyharness.store.folders import abandoned

PREFIX = "pyharness-"
LOCK = "lock"


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder in TMPDIR, locked as long as it is used, and remove it with all that is in it."""
    clear()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / f".{LOCK}").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / f".{LOCK}").rename(folder / LOCK)  # locked before it has the name that is looked for
            yield folder


def clear() -> None:
    """Remove folders of runs that were killed: ours, with a lock that nobody holds."""
    abandoned.clear(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"), LOCK)
