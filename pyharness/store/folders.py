"""Folders that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyharness.system import ending
from pyharness.types import FileContent, InputError, Streamed


def check_new_folder(path: Path, marker: str, force: bool = False) -> None:
    """Refuse a place where no folder can be made, or that has something: before anything is computed.

    ``force`` allows to replace a folder that was made here, which its file ``marker`` tells.
    """
    if not path.name or path.name == "..":
        raise InputError(f"{str(path)!r} is no name of a new folder")
    try:
        present = path.is_symlink() or path.exists()
        made_here = present and path.is_dir() and not path.is_symlink() and (path / marker).is_file()
        nested = made_here and any(entry.is_dir() for entry in path.iterdir())
        _check_parent(path.parent)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    if present and (not made_here or nested):
        raise InputError(f"{str(path)!r} exists already and was not made by this command; choose another folder")
    if present and not force:
        raise InputError(f"{str(path)!r} exists already: replace it with --force, or choose another folder")


def _check_parent(parent: Path) -> None:
    if not parent.is_dir():
        raise InputError(f"there is no folder {str(parent)!r}; make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {str(parent)!r}; check its permissions")


def write_folder(path: Path, files: Mapping[str, FileContent], *, overwrite: bool = False) -> None:
    """Write a folder; one that is there already is replaced with ``overwrite``. Interrupted, it leaves what was there.

    Of what is streamed, memory holds one chunk at a time.

    Raises:
        InputError: the folder cannot be written, is there and may not be replaced, or the disk has too little room.
    """
    try:
        _check_room(path.parent, sum(map(size_of, files.values())))
        with ending.politely():
            made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
            try:
                _fill(made, files)
                if overwrite:
                    _replace(path, made)
                else:
                    made.rename(path)  # what has come there meanwhile is refused by the system, unless it is empty
            finally:
                shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and os.path.lexists(path):
            raise InputError(
                f"{str(path)!r} exists already: replace it with --force, or choose another folder"
            ) from None
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def size_of(content: FileContent) -> int:
    """Bytes of a file to be written."""
    return content.size if isinstance(content, Streamed) else len(content)


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{needed / 1e9:,.2f} GB are to be written to {str(folder)!r}, and {free / 1e9:,.2f} GB are free there; "
            "make room, or choose another disk"
        )


def _fill(folder: Path, files: Mapping[str, FileContent]) -> None:
    folder.chmod(0o755)
    for name, content in files.items():
        with (folder / name).open("wb") as file:
            file.writelines(content.chunks() if isinstance(content, Streamed) else (content,))
            file.flush()
            os.fsync(file.fileno())
            if file.tell() != size_of(content):
                raise InputError(f"{name} was to have {size_of(content):,} bytes, and has {file.tell():,}")


def _replace(path: Path, made: Path) -> None:
    if not path.exists():
        made.rename(path)
        return
    old = made.with_suffix(".old")
    path.rename(old)
    try:
        made.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
