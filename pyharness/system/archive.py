"""Zip archives of untrusted origin, read within bounds, whatever their headers say.

Only stored and deflated members are read: ``zipfile`` unpacks bzip2 and LZMA without a bound, so that a few kB become
many GB.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import IO, BinaryIO

MOST_AT_ONCE = 16 << 20  # bytes of one read, also of the directory, which is read whole; 150,000 members need less
# Errors of zipfile for damage, or a file that is no archive; they have no common base class.
DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, NotImplementedError, OSError, RuntimeError,
    ValueError,
)  # fmt: skip
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class _InPieces:
    """A file whose reads return at most one piece."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        return self._file.read(size if 0 <= size <= MOST_AT_ONCE else MOST_AT_ONCE)


def opened(file: BinaryIO) -> zipfile.ZipFile:
    """Open an archive; the caller closes the file. A directory that is too large counts as truncated.

    Raises one of ``DAMAGE`` if the file is no archive.
    """
    return zipfile.ZipFile(_InPieces(file))


def member(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo) -> IO[bytes]:
    """Open a member: reading n bytes of it takes no more than a piece of the file and n bytes of memory.

    Raises one of ``DAMAGE``, here or when it is read: the member is missing, or packed otherwise than by deflate.
    """
    about = archive.getinfo(name) if isinstance(name, str) else name
    if about.compress_type not in _READ:
        raise zipfile.BadZipFile(
            f"{about.filename[:200]!r} is packed by method {about.compress_type}; "
            f"members that are stored or deflated ({' or '.join(map(str, _READ))}) are read"
        )
    return archive.open(about)


def read(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, most: int) -> bytes:
    """Return the content of a member of at most ``most`` bytes; raise as ``member`` does, and if it is larger."""
    with member(archive, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise zipfile.BadZipFile(f"{file.name[:200]!r} has more than {most:,} bytes")
    return content
