"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pyharness.types import InputError


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        with _replacement(path) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


@contextlib.contextmanager
def _replacement(path: Path) -> Iterator[IO[str]]:
    handle, name = temporary_beside(path)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_folder(path: Path) -> None:
    """Refuse a path beside which no file can be made: before anything is measured."""
    try:
        handle, name = temporary_beside(path)
    except OSError as error:
        raise InputError(f"cannot write to {str(path.parent)!r}: {error.strerror or error}") from None
    os.close(handle)
    Path(name).unlink()


def temporary_beside(path: Path) -> tuple[int, str]:
    """Open a new file in the folder of ``path``: its handle and its name."""
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
