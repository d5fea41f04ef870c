"""A file of a store: what was listed of it, and its bytes, fetched in exact ranges and compared with what was asked.

fsspec's own buffers would read 20 parts of a file two times and more, and a body that is cut off passes some libraries
without a word.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import unquote, urlsplit

from pyharness.corpora.files import reading
from pyharness.corpora.files.reading import BLOCK_BYTES, Extent, FileState
from pyharness.features.remote.faults import NoRanges, ShortAnswer, tried
from pyharness.features.remote.providers import PROVIDERS
from pyharness.types import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

T = TypeVar("T")

FIRST_BYTES = 256 << 10  # of the first request; each further one asks for twice as much, up to
MOST_BYTES = 4 << 20
AFTER_BYTES = 4 << 10  # of the first request behind the end of a part: the line that began before
_VERSIONS = ("ETag", "generation", "md5Hash", "blob_id", "Last-Modified", "LastModified")  # the first that is there


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a store, as it was listed. Its text is its address."""

    store: Any  # a file system of fsspec
    scheme: str
    path: str  # as the file system writes it
    state: FileState
    until: int | None = None  # what lies behind is read in small steps
    handles: list[Any] = field(default_factory=list, compare=False)  # the open one, if any

    def __str__(self) -> str:
        return self.path if self.path.startswith(f"{self.scheme}://") else f"{self.scheme}://{self.path}"

    @property
    def name(self) -> str:
        """The last part of its address."""
        return unquote(urlsplit(str(self)).path if "://" in self.path else self.path).rpartition("/")[2]

    def open(self, mode: Literal["rb"], buffering: int = -1, /) -> IO[bytes]:
        """Open it for reading; of Parquet nothing is fetched that is not asked for."""
        del mode
        if reading.kind(self.name) == "parquet":
            return cast(IO[bytes], _Ranges(self, exact=True))
        return io.BufferedReader(_Ranges(self), buffering if buffering > 1 else BLOCK_BYTES)

    def fetch(self, start: int, size: int) -> bytes:
        """Return a range of its bytes; raise ``InputError`` if it cannot be had whole."""

        def once() -> bytes:
            handle = self._handle()
            handle.seek(start)
            try:
                data = bytes(handle.read(size))
            except ValueError:  # of a web server that answers with all of the file
                raise NoRanges from None
            if len(data) != size:
                raise ShortAnswer(f"came with {len(data):,} of {size:,} bytes at byte {start:,}")
            return data

        return tried(str(self), PROVIDERS[self.scheme].settings, once)

    def _handle(self) -> Any:
        if not self.handles:
            asking = PROVIDERS[self.scheme].asking(self.state.size)
            handle = self.store.open(self.path, "rb", cache_type="none", block_size=MOST_BYTES, **asking)
            if getattr(handle, "size", None) is None:
                raise NoRanges
            self.handles.append(handle)
        return self.handles[0]

    def check(self) -> None:
        """Raise ``InputError`` if the file is no longer what was listed: its parts would be of two texts."""
        now = tried(str(self), PROVIDERS[self.scheme].settings, lambda: state_in(looked_up(self.store, self.path)))
        if now != self.state:
            raise InputError(f"{self} changed while it was read: measure a text that stays as it is")


def looked_up(store: Any, path: str) -> Mapping[str, Any]:
    """Return what a store says of a path, now."""
    store.invalidate_cache()
    about: Mapping[str, Any] = store.info(path)
    return about


def state_in(about: Mapping[str, Any]) -> FileState:
    """Return size and version of a file, of what its store says of it."""
    if not isinstance(about.get("size"), int):
        raise NoRanges
    version = next((str(about[name]) for name in _VERSIONS if about.get(name)), "")
    return FileState(about["size"], version.removeprefix("W/").strip('"'))


class _Ranges(io.RawIOBase):
    """The bytes of a file in order, fetched in ranges that grow; or exactly what is asked for.

    Requests end at ``file.until``, and what is wanted behind it is fetched in small steps that grow, too.
    """

    def __init__(self, file: StoredFile, exact: bool = False) -> None:
        self._file = file
        self._exact = exact
        self._position = 0
        self._block, self._start = b"", 0
        self._size = FIRST_BYTES
        self._behind = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        if self._position < 0:
            raise ValueError(f"there is no byte {self._position}")
        return self._position

    @property
    def _length(self) -> int:
        return self._file.state.size

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        wanted = min(len(target), self._length - self._position)
        if wanted <= 0:
            return 0
        at = self._position - self._start
        if self._exact or not 0 <= at < len(self._block):  # who wants exact ranges takes fewer bytes for the end
            at, self._start = 0, self._position
            self._block = self._file.fetch(self._position, wanted if self._exact else self._next_size())
        part = self._block[at : at + wanted]
        target[: len(part)] = part
        self._position += len(part)
        return len(part)

    def _next_size(self) -> int:
        until = self._length if self._file.until is None else min(self._file.until, self._length)
        if self._position >= until and not self._behind:
            self._behind, self._size = True, AFTER_BYTES
        stop = self._length if self._behind else until
        size = min(self._size, stop - self._position)
        self._size = min(2 * self._size, MOST_BYTES)
        return size


def guarded(read: Callable[[Iterable[Extent]], Iterator[T]]) -> Callable[[Iterable[Extent]], Iterator[T]]:
    """Return the same reader of extents, which fails by name for a file that changes while it is read."""

    def of(extents: Iterable[Extent]) -> Iterator[T]:
        for extent in extents:
            file = cast(StoredFile, extent.file)
            bounded = replace(file, until=extent.stop, handles=[])
            try:
                yield from read((extent._replace(file=bounded),))
            except InputError:
                file.check()  # what is damaged may have been of two files
                raise
            file.check()

    return of
