"""Files that a folder may have copied: its own, and no more of them than such files have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyharness.system import bounded_file
from pyharness.types import InputError, Streamed

LARGEST_BESIDE = 16 << 20  # bytes of a licence or of settings; published ones have 50 kB
_BLOCK = 1 << 20  # bytes that are read at a time


def own(path: Path) -> Path:
    """Return a file of a folder that is copied, unless it is a link to what the folder does not hold.

    Whoever made the folder could have any file of its reader's copied by a link. In the cache of the Hub every file of
    a snapshot is one, to ``blobs`` beside ``snapshots``: what that holds is the folder's own.

    Raises:
        InputError: the link leads elsewhere.
    """
    folder, target = path.parent.resolve(), path.resolve()
    held = [folder, *([folder.parents[1] / "blobs"] if folder.parent.name == "snapshots" else [])]
    if not any(target.is_relative_to(one) for one in held):
        raise InputError(
            f"{path} is a link out of its folder, to {target}: it is not copied; put the file itself there"
        )
    return path


def copied(path: Path) -> Streamed:
    """Return a file as it is, read while it is written.

    Raises:
        InputError: it is not the folder's own, or too large. While it is read: it cannot be, or has become shorter.
    """
    size = own(path).stat().st_size
    if size > LARGEST_BESIDE:
        raise InputError(
            f"{path} has {size:,} bytes; what is copied beside the weights has at most {LARGEST_BESIDE:,}: move it away"
        )
    return Streamed(size, lambda: _blocks(path, size))


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    try:
        with bounded_file.opened(path) as file:
            while size > 0 and (block := file.read(min(_BLOCK, size))):
                size -= len(block)
                yield block
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
