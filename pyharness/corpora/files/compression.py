"""Compressed streams (xz and zstd) as binary files that detect truncation."""

from __future__ import annotations

import io
import lzma
from typing import IO, TYPE_CHECKING, Any

from pyharness.plugins.libraries import load

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_MEMORY = 256 << 20  # bytes; xz -9 needs 65 MB
_BLOCK = 1 << 16
# Bounds the output of one step: 4 bytes can stand for a block of 128 KiB, so 1 KiB for 32 MiB.
STEP_BYTES = 1 << 10


class NeedsMemory(Exception):
    """Decompression would take more than ``MOST_MEMORY``; the message lacks a subject."""


def open_xz(file: IO[bytes]) -> IO[bytes]:
    """Decompress ``file``, stream after stream."""
    return io.BufferedReader(_Streams(file))


class _Streams(io.RawIOBase):
    # lzma.open also reads streams one after the other, but has no memory limit.
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._stream = _stream()
        self._waiting = b""  # compressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        while True:
            if self._stream.eof and not self._begin_next():
                return 0
            if not self._waiting and self._stream.needs_input:
                self._waiting = self._file.read(_BLOCK)
                if not self._waiting:
                    raise EOFError("xz stream without its end")
            if unpacked := self._step(len(target)):
                target[: len(unpacked)] = unpacked
                return len(unpacked)

    def _begin_next(self) -> bool:
        """Continue after the end of a stream, over padding zeros; return False at the end of the file."""
        self._waiting = self._stream.unused_data.lstrip(b"\0")
        while not self._waiting:
            if not (block := self._file.read(_BLOCK)):
                return False
            self._waiting = block.lstrip(b"\0")
        self._stream = _stream()
        return True

    def _step(self, most: int) -> bytes:
        try:
            unpacked = self._stream.decompress(self._waiting, most)
        except lzma.LZMAError as error:
            if "Memory usage limit" not in str(error):
                raise
            raise NeedsMemory(
                f"takes more than {MOST_MEMORY >> 20} MiB of memory to be unpacked; pack it again with xz -9 or less"
            ) from None
        self._waiting = b""
        return unpacked


def _stream() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, MOST_MEMORY)


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def open_zstd(file: IO[bytes]) -> IO[bytes]:
    """Decompress ``file``, frame after frame."""
    return io.BufferedReader(_Frames(file, load("reading .zst files", "zstandard", "files")))


class _Frames(io.RawIOBase):
    # zstandard's stream_reader takes a truncated file for a short one; its decompressobj distinguishes them.
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
