"""Where we keep what would take long to make again."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from pyharness.system import atomic_file
from pyharness.system.folders import home_folder


def ours() -> Path:
    """Folder of all that is kept: PYHARNESS_CACHE, or ``pyharness`` in XDG_CACHE_HOME or ``~/.cache``."""
    own = os.environ.get("PYHARNESS_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pyharness"
    return home_folder.expanded(folder)


def put(path: Path, content: atomic_file.Content) -> None:
    """Write a file of the cache, over one that is there; what is none (a FIFO, say) is removed, and not written into.

    Raises ``OSError`` where the system refuses, or a folder stands there.
    """
    if not path.is_file():
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    atomic_file.replace(path, content)
