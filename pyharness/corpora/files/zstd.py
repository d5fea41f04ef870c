"""A zstd stream as a binary file that knows when it was cut short."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any

from pyharness.plugins.libraries import load

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Bounds what one step unpacks: 4 bytes can stand for a block of 128 KiB, so 1 KiB for 32 MiB.
STEP_BYTES = 1 << 10


def open_zstd(file: IO[bytes]) -> IO[bytes]:
    """Decompress ``file``, frame after frame."""
    return io.BufferedReader(_Frames(file, load("reading .zst files", "zstandard", "files")))


class _Frames(io.RawIOBase):
    # zstandard's stream_reader takes a truncated file for a short one; its decompressobj tells them apart.
    def __init__(self, file: IO[bytes], library: Any) -> None:
        self._file = file
        self._library = library
        self._frame: Any = None
        self._waiting = b""  # compressed
        self._ready = memoryview(b"")  # decompressed
        self._started = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        while not self._ready:
            if not self._waiting:
                self._waiting = self._file.read(STEP_BYTES)
            if not self._waiting:
                if self._frame is not None or not self._started:
                    raise EOFError("zstd frame without its end")
                return 0
            self._step()
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _step(self) -> None:
        self._started = True
        if self._frame is None:
            self._frame = self._library.ZstdDecompressor().decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(self._waiting))
        except self._library.ZstdError as error:
            raise OSError(str(error)) from error  # without an errno, like gzip and bz2
        self._waiting = b""
        if self._frame.eof:
            self._waiting, self._frame = self._frame.unused_data, None
