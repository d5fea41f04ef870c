"""Documents in, ids out: files in parts, cut where that does not change the ids; each part is encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from pyharness import tokenizers
from pyharness.bpe.encoding.safe_cuts import SafeCuts
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.corpora.files.reading import named_errors
from pyharness.corpora.streaming import batches
from pyharness.plugins import registry
from pyharness.types import Ids, InputError, Tokenizer, Tokens

PART_BYTES = 256 << 10
LONGEST_DOCUMENT = 4 << 20  # bytes of a document that cannot be cut: `tokenizers` takes 130 times as much


class DocumentPart(NamedTuple):
    """Bytes of a document, from its byte ``at`` on."""

    name: str  # the document's name in messages
    data: bytes
    at: int = 0
    ends: bool = True  # whether the document ends with this part


def parts(
    sources: Iterable[tuple[str, IO[bytes]]], lines: bool, cuts: SafeCuts | None = None, *,
    longest: int = LONGEST_DOCUMENT, size: int = PART_BYTES,
) -> Iterator[DocumentPart]:  # fmt: skip
    r"""Yield documents of files, whole files or their lines without the ``\n``, in parts of about ``size`` bytes.

    Without ``cuts`` a part is a whole document.

    Raises:
        InputError: a file cannot be read; more than ``longest`` bytes would have to be held.
    """
    for name, source in sources:
        with named_errors(Path(name), lambda: "reading it"):
            number, held = 1, None
            for data, ends in _lines(source, size) if lines else _read_whole(source, size):
                document = f"{name} line {number}" if lines else name
                if held is None and ends:  # most lines: no other object is made for them
                    yield DocumentPart(document, data)
                else:
                    held = _Held(document, cuts, longest, size) if held is None else held
                    yield from held.add(data, ends)
                if ends:
                    number, held = number + 1, None


class _Held:
    """The part of a document that was not yielded yet."""

    def __init__(self, name: str, cuts: SafeCuts | None, longest: int, size: int) -> None:
        self._name, self._cuts, self._longest, self._size = name, cuts, longest, size
        self._data = bytearray()
        self._at = self._searched = 0

    def add(self, data: bytes, ends: bool) -> Iterator[DocumentPart]:
        self._data += data
        if ends:
            yield DocumentPart(self._name, bytes(self._data), self._at)
        elif self._cuts is not None and len(self._data) >= self._size:
            yield from self._cut(self._cuts)
        if not ends and len(self._data) > self._longest:
            raise self._too_long()

    def _cut(self, cuts: SafeCuts) -> Iterator[DocumentPart]:
        data = bytes(self._data)
        if place := cuts.last(data, self._searched):
            yield DocumentPart(self._name, data[:place], self._at, ends=False)
            self._at += place
            self._data = bytearray(data[place:])
            self._searched = 0
        else:
            self._searched = max(0, len(data) - self._size)  # a token or a character may continue after its first half

    def _too_long(self) -> InputError:
        if self._cuts is None:
            return InputError(
                f"{self._name} has more than {self._longest:,} bytes, and this tokenizer holds a document whole: "
                "raise --max-document-bytes, or try --lines or our own encoder (native+SPEC)"
            )
        return InputError(
            f"{self._name} has {len(self._data):,} bytes without a safe place to cut, from byte "
            f"{self._at:,} on: if that is text, raise --max-document-bytes"
        )


def _read_whole(source: IO[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
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


# ---------------------------------------------------------------------------------------------- encoding


BATCH_BYTES = 4 << 20
BATCH_PARTS = 4096


def load(specification: str, special: bool = False) -> Tokenizer:
    """Load a tokenizer by its specification, or by the path of its file.

    Raises:
        InputError: there is no such tokenizer, it cannot be loaded, or it cannot map the ``special`` tokens.
    """
    row = tokenizers.obtain(specification)
    tokenizer = tokenizers.load(row)
    if special and not isinstance(tokenizer, BpeTokenizer):
        raise InputError(
            f"--special is for our own encoder; {row.name!r} runs in {row.library}: try 'native+{row.name}'"
        )
    return tokenizer


def safe_cuts(tokenizer: Tokenizer, special: bool = False) -> SafeCuts | None:
    """Return where documents can be cut for a tokenizer; None: it needs whole documents."""
    return tokenizer.safe_cuts(allowed_special=_allow(special)) if isinstance(tokenizer, BpeTokenizer) else None


def encoded(
    tokenizer: Tokenizer, parts: Iterable[DocumentPart], threads: int = 1, special: bool = False
) -> Iterator[tuple[Ids, bool]]:
    """Yield the ids of each part, and whether its document ends there.

    Our encoder keeps bytes that are not UTF-8 if its model can; others never get such bytes. With ``special`` it maps
    special tokens in the text to their ids.

    Raises:
        InputError: a document cannot be encoded.
    """
    first = 0
    for batch in batches(parts, size=BATCH_BYTES, count=BATCH_PARTS, size_of=lambda part: len(part.data)):
        if isinstance(tokenizer, BpeTokenizer):
            tokens = _of_bytes(tokenizer, batch, threads, first, special)
        else:
            tokens = tokenizer.encode_batch([_text(part) for part in batch], threads)
        first += len(batch)  # documents: only dropout uses the count, and then a part is a whole document
        yield from ((tokens.document(index), part.ends) for index, part in enumerate(batch))


def _allow(special: bool) -> str | tuple[()]:
    return "all" if special else ()


def _of_bytes(tokenizer: BpeTokenizer, batch: list[DocumentPart], threads: int, done: int, special: bool) -> Tokens:
    try:
        texts = [part.data for part in batch]
        return tokenizer.encode_batch(texts, threads, first_document=done, allowed_special=_allow(special))
    except InputError:
        for part in batch:  # name the part, if that was at fault
            _text(part)
        raise


def _text(part: DocumentPart) -> str:
    try:
        return part.data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{part.name} is not UTF-8 at byte {part.at + error.start}, which this tokenizer needs: use our own "
            "encoder of bytes (file:model.json, native+SPEC)"
        ) from None


# ---------------------------------------------------------------------------------------------- data other than text


@dataclass(frozen=True, slots=True)
class Stream:
    """A kind of file that encodes data other than text, and decodes it."""

    name: str
    noun: str  # its name in messages
    file: Callable[[str], Path | None]  # path of such a file, if a specification names one
    encoded: Callable[[Path, Sequence[str]], Iterator[bytes]]  # (file, names of the sources) -> parts of the output
    # (file, sources by their names, listener to remarks) -> parts of the output
    decoded: Callable[[Path, Iterable[tuple[str, IO[bytes]]], Callable[[str], None]], Iterator[bytes]]


def stream_of(specification: str) -> tuple[Stream, Path] | None:
    """Find the stream that a specification names; None for a tokenizer."""
    for stream in registry.offered("pyharness.streams", "STREAMS").values():
        if (path := stream.file(specification)) is not None:
            return stream, path
    return None
