"""The ``~`` of a path: this user's home, or another's."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Put the home in the place of ``~`` or ``~user``; a user that is not known stays as it is, a name like others.

    ``Path.expanduser`` raises ``RuntimeError`` there.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111
