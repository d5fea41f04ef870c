"""Where we keep what would take long to make again."""

from __future__ import annotations

import os
from pathlib import Path

from pyharness.system.folders import home_folder


def ours() -> Path:
    """Folder of all that is kept: PYHARNESS_CACHE, or ``pyharness`` in XDG_CACHE_HOME or ``~/.cache``."""
    own = os.environ.get("PYHARNESS_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pyharness"
    return home_folder.expanded(folder)
