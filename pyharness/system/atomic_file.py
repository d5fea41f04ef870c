"""Files that are written whole or not at all: to a temporary file, then moved. Other things are written through.

A symbolic link stays: its target is written. A device, a FIFO and an open file by its name (``/dev/stdout``) are
written into as a pipe is: a file in their place would break them for every other user. A killed process may leave
``.NAME.*.part`` next to the file; it can be removed.

Also the one lock on an open file or folder, the system's ``flock``. The library filelock locks a descriptor by the same
call, but it waits by polling, and it would be one more dependency for one line.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeAlias

from pyharness.types import InputError

Writer: TypeAlias = Callable[[IO[bytes]], None]
Content: TypeAlias = str | bytes | Path | Writer  # a text in UTF-8, bytes, a file to copy, or a function that writes
ADVICE = "replace it with --force, or choose another --output"
_LINKS = 40  # most links that the system follows
_NEW = 0o666  # before the umask
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def write(path: Path, content: Content, *, overwrite: bool = False, advice: str = ADVICE) -> None:
    """Write a file, text in UTF-8. Interrupted, it leaves the previous state, and no other file next to it.

    Raises:
        InputError: the file cannot be written, or exists and ``overwrite`` is not set (``advice``: what to do then).
    """
    try:
        (replace if overwrite else create)(path, content)
    except FileExistsError:
        raise InputError(f"{str(path)!r} exists already: {advice}") from None
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def replace(path: Path, content: Content) -> None:
    """Overwrite a file like ``write``, but let ``OSError`` through for callers that word their own message."""
    if is_stream(path):
        _write_through(path, _data(content))
        return
    target = Path(os.path.realpath(path))
    mode = _status(target)
    before = None if mode is None else mode & 0o777  # of an existing file: its replacement gets the same permissions
    with _aside(target, content, before) as part:
        if before is not None:
            part.chmod(before)
        part.replace(target)


def keep(path: Path, content: Content) -> None:
    """Replace a file in a cache as ``replace`` does; first remove anything else of that name, but no folder."""
    if not path.is_file():
        path.unlink(missing_ok=True)
    replace(path, content)


def create(path: Path, content: Content) -> None:
    """Write a file as ``replace`` does, if the name is free: of several simultaneous attempts, one succeeds.

    Raises:
        FileExistsError: there is a file or a block device. Other devices, pipes and open files are written into.
        OSError: it cannot be written.
    """
    if is_stream(path):
        if stat.S_ISBLK(path.stat().st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        _write_through(path, _data(content))
        return
    target = Path(os.path.realpath(path))
    with _aside(target, content) as part:
        _move_to_free_name(part, target)


def check(path: Path, *, overwrite: bool = False, advice: str = ADVICE) -> None:
    """Raise ``InputError`` before measurement where ``write`` would at present. Folders are made later.

    The last clause of ``advice``, after ", or", is what to do about a folder or a socket, which nothing replaces.
    """
    other = advice.rpartition(", or ")[2]
    try:
        if not path.name or path.is_dir():
            raise InputError(f"{str(path)!r} is a folder: name a file in it, or {other}")
        mode = _status(path)
        if mode is not None and stat.S_ISSOCK(mode):
            raise InputError(f"{str(path)!r} is a socket: {other}")
        if mode is not None and not overwrite and (stat.S_ISBLK(mode) or not is_stream(path)):
            raise InputError(f"{str(path)!r} exists already: {advice}")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def check_writable(path: Path, *, overwrite: bool = False, advice: str = ADVICE) -> None:
    """Raise ``InputError``, before measurement, as ``check``, and for a path next to which no file can be made."""
    check(path, overwrite=overwrite, advice=advice)
    try:
        if is_stream(path):
            return
        handle, part = _temporary_beside(Path(os.path.realpath(path)))
    except OSError as error:
        raise InputError(f"cannot write to {str(path.parent)!r}: {error.strerror or error}") from None
    os.close(handle)
    part.unlink()


def is_stream(path: Path) -> bool:
    """Return whether a path names a device, a pipe or an open file: these are written into and not replaced.

    Raises ``OSError`` if the system cannot tell, for example for a cycle of links.
    """
    mode = _status(path)
    if mode is None or stat.S_ISDIR(mode):
        return False
    return not stat.S_ISREG(mode) or descriptor(path) is not None


def _status(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is reported when the file is made
        return None


def descriptor(path: Path) -> int | None:
    """Return the descriptor of this process's open file that a path names: 1 for ``/dev/stdout``; None if none."""
    for _ in range(_LINKS):
        if os.path.realpath(path.parent) in (f"/proc/{os.getpid()}/fd", "/dev/fd") and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _write_through(path: Path, data: bytes) -> None:
    number = descriptor(path)  # opening by name would start at offset 0, even after ``>>``
    handle = os.open(path, os.O_WRONLY | os.O_NOCTTY) if number is None else os.dup(number)
    try:
        if number is None and stat.S_ISREG(os.fstat(handle).st_mode):  # it has become a file
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


@contextlib.contextmanager
def _aside(target: Path, content: Content, permissions: int | None = None) -> Iterator[Path]:
    """Write a temporary file next to its target, and remove it unless it is moved there."""
    handle, part = _temporary_beside(target, _NEW if permissions is None else permissions)
    try:
        with os.fdopen(handle, "wb") as file:
            _fill(file, content)
            file.flush()
            os.fsync(file.fileno())  # or a crash of the machine could leave the new name without content
        yield part
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _move_to_free_name(part: Path, target: Path) -> None:
    try:
        os.link(part, target)  # refuses an existing target, unlike a rename
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))  # reserves the name, still empty
        try:
            part.replace(target)
        except BaseException:
            target.unlink()
            raise
    else:
        part.unlink()


def _fill(file: IO[bytes], content: Content) -> None:
    if isinstance(content, Path):
        with content.open("rb") as source:
            shutil.copyfileobj(source, file)
    elif callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)


def _data(content: Content) -> bytes:
    file = io.BytesIO()
    _fill(file, content)
    return file.getvalue()


def _temporary_beside(path: Path, permissions: int = _NEW) -> tuple[int, Path]:
    """Make a file next to another. Unlike ``tempfile``, let the umask decide on permissions."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        with contextlib.suppress(FileExistsError):
            return os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions), part


def lock(file: int | IO[str] | IO[bytes], *, wait: bool = False) -> bool:
    """Lock an open file or folder until it is closed; return False if another holds it and ``wait`` is not set.

    Raises:
        OSError: the system cannot lock it, for example on a file system without locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
