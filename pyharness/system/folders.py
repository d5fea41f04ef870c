"""Folders of this user: the home that ``~`` names, and the cache of what would take long to make again."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Put the home in the place of ``~`` or ``~user``; a user that is not known stays as it is, a name like others.

    ``Path.expanduser`` raises ``RuntimeError`` there.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111


def cache() -> Path:
    """Folder of all that is kept: PYHARNESS_CACHE, or ``pyharness`` in XDG_CACHE_HOME or ``~/.cache``."""
    own = os.environ.get("PYHARNESS_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pyharness"
    return expanded(folder)
