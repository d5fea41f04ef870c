"""Files that are written whole or not at all: on disk aside, then renamed into place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from pyharness.types import InputError


def write(path: Path, content: str | bytes) -> None:
    """Write a file, text in UTF-8. Interrupted, it leaves what was there before, and nothing beside it.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        replace(path, content)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def replace(path: Path, content: str | bytes) -> None:
    """As ``write``, for who says in other words what went wrong: raises ``OSError``."""
    data = content.encode() if isinstance(content, str) else content
    handle, name = _temporary_beside(path)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # or a crash of the machine could leave the new name with nothing behind it
        part.chmod(_mode(path))
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def check_folder(path: Path) -> None:
    """Refuse a path beside which no file can be made: before anything is measured."""
    try:
        handle, name = _temporary_beside(path)
    except OSError as error:
        raise InputError(f"cannot write to {str(path.parent)!r}: {error.strerror or error}") from None
    os.close(handle)
    Path(name).unlink()


def _temporary_beside(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644
