"""Files as they lie in a working tree: copied into an exported commit, one to one, and never through a link.

Names are relative to the top of the tree, with ``/``. A link is copied as a link, whatever it leads to. What is no file
and no link (a folder, a FIFO, another repository) counts as not there.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


def copy(names: Sequence[str], top: Path, target: Path) -> None:
    """Make these files of ``target`` what they are below ``top``; what is gone goes before anything is put."""
    for name in names:
        _remove(name, top, target)
    for name in names:
        if _mode(name, top) is not None:
            _folder(PurePosixPath(name).parent, target)
            shutil.copy2(top / name, target / name, follow_symlinks=False)


def _remove(name: str, top: Path, target: Path) -> None:
    """Remove what has this name in ``target``, and the folders above that are empty then and not in ``top``."""
    if not _is_reached(name, target):
        return
    there = target / name
    if there.is_symlink() or there.is_file():
        there.unlink()
    elif there.is_dir() and _mode(name, top) is not None:
        shutil.rmtree(there)
    for above in PurePosixPath(name).parents[:-1]:
        if (top / above).is_dir() and not (top / above).is_symlink():
            return
        try:
            (target / above).rmdir()
        except OSError:  # it has other files
            return


def _folder(name: PurePosixPath, target: Path) -> None:
    """Make a folder in ``target``, in the place of any file or link on the way."""
    for part in (*reversed(name.parents[:-1]), *([name] if name.parts else ())):
        folder = target / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)


def _is_reached(name: str, top: Path) -> bool:
    """Whether the folders above a name are folders, and no links to elsewhere."""
    above = [top / one for one in PurePosixPath(name).parents[:-1]]
    return all(one.is_dir() and not one.is_symlink() for one in above)


def _mode(name: str, top: Path) -> int | None:
    """Kind and permissions of a file or link; None where there is none."""
    if not _is_reached(name, top):
        return None
    try:
        mode = (top / name).lstat().st_mode
    except OSError:
        return None
    return mode if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else None


def digest(names: Sequence[str], top: Path) -> str:
    """Digest of these files: their names, what they are, whether they are programs, and their content."""
    total = hashlib.sha256()
    for name in names:
        mode = _mode(name, top)
        if mode is None:
            content, kind = "", "gone"
        elif stat.S_ISLNK(mode):
            content, kind = repr((top / name).readlink()), "link"
        else:
            with (top / name).open("rb") as file:
                content, kind = hashlib.file_digest(file, "sha256").hexdigest(), f"file {mode & stat.S_IXUSR}"
        total.update(repr((name, kind, content)).encode(errors="surrogateescape"))
    return total.hexdigest()
