"""Zip archives of strangers: read within bounds, whatever they say of themselves.

Members that are stored or deflated are read, and no others: ``zipfile`` unpacks bzip2 and LZMA without a bound, so that
a few kB become many GB.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import IO, BinaryIO

MOST_AT_ONCE = 16 << 20  # bytes of the file: of its directory, too, which is read whole; 150,000 members have less
# What zipfile raises for what is no archive, or a damaged one, has no common name.
DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, NotImplementedError, OSError, RuntimeError,
    ValueError,
)  # fmt: skip
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class _InPieces:
    """A file of which nobody gets more than a piece at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        return self._file.read(size if 0 <= size <= MOST_AT_ONCE else MOST_AT_ONCE)


def opened(file: BinaryIO) -> zipfile.ZipFile:
    """Open an archive; the file is the caller's to close. What is too large a directory counts as cut off.

    Raises one of ``DAMAGE`` where it is no archive.
    """
    return zipfile.ZipFile(_InPieces(file))


def member(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo) -> IO[bytes]:
    """Open a member: reading n bytes of it takes no more than a piece of the file and n bytes of memory.

    Raises one of ``DAMAGE``, here or when it is read: there is none, or it is packed in another way than by deflate.
    """
    about = archive.getinfo(name) if isinstance(name, str) else name
    if about.compress_type not in _READ:
        raise zipfile.BadZipFile(
            f"{about.filename[:200]!r} is packed by method {about.compress_type}; "
            f"members that are stored or deflated ({' or '.join(map(str, _READ))}) are read"
        )
    return archive.open(about)


def read(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, most: int) -> bytes:
    """Content of a member of at most ``most`` bytes; raises what ``member`` raises, and where it has more."""
    with member(archive, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise zipfile.BadZipFile(f"{file.name[:200]!r} has more than {most:,} bytes")
    return content
