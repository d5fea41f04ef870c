"""Files to parts of documents: as much as is encoded at a time, cut where that does not change the ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from pyharness.bpe.encoding.safe_cuts import SafeCuts
from pyharness.corpora.files.reading import named_errors
from pyharness.types import InputError

PART_BYTES = 256 << 10
LONGEST_DOCUMENT = 4 << 20  # bytes that are held where there is no cut: `tokenizers` takes 130 times as much


class Part(NamedTuple):
    """Bytes of a document, the first of which is its byte ``at``."""

    name: str  # of the document, for messages
    data: bytes
    at: int = 0
    ends: bool = True  # whether the document ends behind it


def parts(
    sources: Iterable[tuple[str, IO[bytes]]],
    lines: bool,
    cuts: SafeCuts | None = None,
    *,
    longest: int = LONGEST_DOCUMENT,
    size: int = PART_BYTES,
) -> Iterator[Part]:
    r"""Documents of files, whole files or their lines without the ``\n``, in parts of about ``size`` bytes.

    Without ``cuts`` a part is a whole document.

    Raises:
        InputError: a file cannot be read; more than ``longest`` bytes would have to be held.
    """
    for name, source in sources:
        with named_errors(Path(name), lambda: "reading it"):
            number, held = 1, None
            for data, ends in _lines(source, size) if lines else _whole(source, size):
                document = f"{name} line {number}" if lines else name
                if held is None and ends:  # most lines: nothing else is made for them
                    yield Part(document, data)
                else:
                    held = _Held(document, cuts, longest, size) if held is None else held
                    yield from held.add(data, ends)
                if ends:
                    number, held = number + 1, None


class _Held:
    """The part of a document that is not given yet."""

    def __init__(self, name: str, cuts: SafeCuts | None, longest: int, size: int) -> None:
        self._name, self._cuts, self._longest, self._size = name, cuts, longest, size
        self._data = bytearray()
        self._at = self._searched = 0

    def add(self, data: bytes, ends: bool) -> Iterator[Part]:
        self._data += data
        if ends:
            yield Part(self._name, bytes(self._data), self._at)
        elif self._cuts is not None and len(self._data) >= self._size:
            yield from self._cut(self._cuts)
        if not ends and len(self._data) > self._longest:
            raise self._too_long()

    def _cut(self, cuts: SafeCuts) -> Iterator[Part]:
        data = bytes(self._data)
        if place := cuts.last(data, self._searched):
            yield Part(self._name, data[:place], self._at, ends=False)
            self._at += place
            self._data = bytearray(data[place:])
            self._searched = 0
        else:
            self._searched = max(0, len(data) - self._size)  # what is a token's or a character's first half may go on

    def _too_long(self) -> InputError:
        if self._cuts is None:
            return InputError(
                f"{self._name} has more than {self._longest:,} bytes, and this tokenizer needs a document whole: give "
                "its lines one by one with --lines, take our own encoder (native+SPEC), or raise --max-document-bytes"
            )
        return InputError(
            f"{self._name} has {len(self._data):,} bytes from byte {self._at:,} on without a place at which the split "
            "pattern is sure to cut, such as a space behind a letter: raise --max-document-bytes if that is text"
        )


def _whole(source: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    while data := source.read(size):
        yield data, False
    yield b"", True


def _lines(source: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    inside = False
    while data := source.readline(size):
        ends = data.endswith(b"\n")
        yield data.removesuffix(b"\n"), ends
        inside = not ends
    if inside:
        yield b"", True
