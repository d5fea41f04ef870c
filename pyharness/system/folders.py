"""Folders of this user, folders that appear whole or not at all, and temporary folders.

A killed process may leave ``.NAME.*.part`` next to a folder NAME; the next one that writes that folder removes it.
A folder in use is locked, and the system ends a lock with its process. To replace a folder, the two names are exchanged
atomically. Some file systems (NFS) cannot do that and need two renames. Killed between them, a process leaves the old
folder as ``.NAME.*.old``, to be renamed by hand.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyharness.system import atomic_file, lifeline
from pyharness.types import FileContent, InputError, Streamed


def expanded(path: str | Path) -> Path:
    """Expand ``~`` or ``~user``; an unknown user stays, as a plain name.

    ``Path.expanduser`` raises ``RuntimeError`` there.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111


def cache() -> Path:
    """Return the folder of all caches: PYHARNESS_CACHE, or ``pyharness`` in XDG_CACHE_HOME or ``~/.cache``."""
    own = os.environ.get("PYHARNESS_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pyharness"
    return expanded(folder)


@contextmanager
def caching(what: str, place: Path) -> Iterator[None]:
    """Raise ``InputError`` if the system refuses what is done inside; it says how to choose another cache."""
    try:
        yield
    except OSError as error:
        why = f"{error.strerror or error}; name another folder in PYHARNESS_CACHE"
        raise InputError(f"cannot keep {what} in {str(place)!r}: {why}") from None


def clear_abandoned(folders: Iterable[Path], locked: str = ".") -> None:
    """Remove those folders that are of this user and that no process holds any more; stay silent about errors.

    ``locked``: the locked file in a folder, or the folder itself. A folder without it stays: its state is unknown.
    """
    with contextlib.suppress(OSError):
        for folder in folders:
            if _is_abandoned(folder, folder / locked):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, locked: Path) -> bool:
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        handle = os.open(locked, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            return atomic_file.lock(handle)
        finally:
            os.close(handle)
    except OSError:
        return False


_HERE = -100  # AT_FDCWD: paths are relative to the process
_EXCHANGE = 2  # RENAME_EXCHANGE
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)  # an old kernel; a file system such as NFS


def exchange(first: Path, second: Path) -> bool:
    """Exchange two existing names; return False, without a change, if the system cannot do that.

    Raises:
        OSError: one name does not exist, or may not be renamed.

    Source: rename(2) of the Linux manual, RENAME_EXCHANGE.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # of glibc from 2.28 on, and musl
    if renameat2 is None:
        return False
    renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if renameat2(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(first), None, str(second))


def check_new_folder(path: Path, marker: str, force: bool = False) -> None:
    """Raise ``InputError``, before any computation, for a path that exists or where no folder can be made.

    ``force`` allows to replace a folder that was made here: it contains the file ``marker`` and no folder.
    """
    if not path.name or path.name == "..":
        raise InputError(f"{str(path)!r} cannot name a new folder: give another name")
    try:
        present = path.is_symlink() or path.exists()
        made_here = present and path.is_dir() and not path.is_symlink() and (path / marker).is_file()
        nested = made_here and any(entry.is_dir() for entry in path.iterdir())
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r}; make it first")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"cannot write to {str(path.parent)!r}; check its permissions")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    if present and (not made_here or nested):
        raise InputError(f"{str(path)!r} exists already and was not made by this command; choose another folder")
    if present and not force:
        raise InputError(f"{str(path)!r} exists already: replace it with --force, or choose another folder")


def check_apart(path: Path, sources: Iterable[Path]) -> None:
    """Raise ``InputError`` for a folder to be made within a source folder, or in place of one with a source in it."""
    target = path.resolve()
    for source in sources:
        if source.is_dir() and source.resolve() in (target, *target.parents):
            raise InputError(
                f"{str(path)!r} is within the folder {str(source)!r}, which is read; choose another folder"
            )
        if target in source.resolve().parents:
            raise InputError(f"{str(source)!r} lies in {str(path)!r}, which would be replaced; choose another folder")


def write_folder(path: Path, files: Mapping[str, FileContent], *, overwrite: bool = False) -> None:
    """Write a folder, or replace one with ``overwrite``. Interrupted, it leaves the previous state.

    Memory holds one chunk of streamed content at a time.

    Raises:
        InputError: the folder cannot be written, exists and may not be replaced, or the disk has too little room.
    """
    try:
        _write(path, files, overwrite=overwrite and path.is_dir() and not path.is_symlink())
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and os.path.lexists(path):
            raise InputError(f"{str(path)!r} exists already; choose another folder") from None
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def keep(path: Path, files: Mapping[str, FileContent]) -> None:
    """Write a folder in a cache as ``write_folder`` does, but replace anything of that name. May raise ``OSError``."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    _write(path, files, overwrite=path.exists())


def _write(path: Path, files: Mapping[str, FileContent], *, overwrite: bool) -> None:
    left = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.part")  # also by older versions of pyharness
    clear_abandoned(entry for entry in path.parent.iterdir() if left.fullmatch(entry.name))
    needed, free = sum(map(_size_of, files.values())), shutil.disk_usage(path.parent).free
    if needed > free:
        raise InputError(
            f"{needed / 1e6:,.1f} MB are to be written to {str(path.parent)!r}, and {free / 1e6:,.1f} MB are free "
            "there; make room, or choose another disk"
        )
    with lifeline.politely(), make_beside(path) as draft:
        _fill(draft, files)
        if overwrite:
            _replace(path, draft)
        else:
            draft.rename(path)  # the system refuses a folder that has appeared meanwhile, unless it is empty


def _size_of(content: FileContent) -> int:
    """Return the size in bytes of a file to be written."""
    return content.size if isinstance(content, Streamed) else len(content)


def _fill(folder: Path, files: Mapping[str, FileContent]) -> None:
    for name, content in files.items():
        with (folder / name).open("wb") as file:
            file.writelines(content.chunks() if isinstance(content, Streamed) else (content,))
            file.flush()
            os.fsync(file.fileno())
            if file.tell() != _size_of(content):
                raise InputError(f"{name} should have {_size_of(content):,} bytes, and has {file.tell():,}")


@contextmanager
def make_beside(path: Path) -> Iterator[Path]:
    """Make a folder, locked while in use; afterwards remove whatever has its temporary name."""
    draft, handle = _lock_beside(path)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(handle)


def _lock_beside(path: Path) -> tuple[Path, int]:
    while True:
        draft = _new_folder_beside(path)
        with suppress(FileNotFoundError):
            handle = os.open(draft, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: nothing there is ever removed as abandoned
                atomic_file.lock(handle, wait=True)
            if draft.exists():  # or else another process was quicker, and removed it as abandoned
                return draft, handle
            os.close(handle)


def _new_folder_beside(path: Path) -> Path:
    """Make a folder next to a name. Unlike ``tempfile``, let the umask decide on permissions."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        with suppress(FileExistsError):
            draft.mkdir()
            return draft


def _replace(path: Path, made: Path) -> None:
    """Give a new folder the name of an old one, which gets the temporary name and is removed with it."""
    if exchange(made, path):
        return
    old = made.with_suffix(".old")
    path.rename(old)
    try:
        made.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


PREFIX = "pyharness-"
LOCK = "lock"


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for temporary files (in TMPDIR), locked while in use, and remove it with its content."""
    clear()
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / f".{LOCK}").open("w", encoding="ascii") as file:
            atomic_file.lock(file)
            (folder / f".{LOCK}").rename(folder / LOCK)  # lock first, then the name that others look for
            yield folder


def clear() -> None:
    """Remove folders of killed runs: ours, with a lock that no process holds."""
    clear_abandoned(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"), LOCK)
