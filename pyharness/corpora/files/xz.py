"""An xz file as a binary file that is unpacked within bounds: its head may ask for 4 GB, however little it holds."""

from __future__ import annotations

import io
import lzma
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_MEMORY = 256 << 20  # bytes; what xz -9 packs takes 65 MB
_BLOCK = 1 << 16


class NeedsMemory(Exception):
    """Unpacking would take more than ``MOST_MEMORY``; the message lacks a subject."""


def open_xz(file: IO[bytes]) -> IO[bytes]:
    """Decompress ``file``, stream after stream."""
    return io.BufferedReader(_Streams(file))


class _Streams(io.RawIOBase):
    # lzma.open, too, reads streams one after the other, but has no limit.
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
        """Go on behind the end of a stream, over the zeros that may be there; False at the end of the file."""
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
