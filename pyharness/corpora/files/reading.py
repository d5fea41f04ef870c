"""Files to bytes to text: file kinds by name, decompression, decoding, lines.

All functions stream; every failure names the file.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pyharness.corpora.files.compression import NeedsMemory, open_xz, open_zstd
from pyharness.types import InputError

T = TypeVar("T")

BLOCK_BYTES = 1 << 17
LINE_BUFFER = 1 << 15  # bytes read ahead of the line that is wanted, at most: a part of a file reads little beyond it
MAX_LINE_BYTES = 1 << 28  # of a file whose lines are read whole: JSONL and aligned text
_DAMAGE: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError)
UNREADABLE = "\udfff"  # stands for an invalid sequence until its document is known

OPENERS: Mapping[str, Callable[[Any], Any]] = {
    ".gz": gzip.open, ".xz": open_xz, ".bz2": bz2.open, ".zst": open_zstd,
}  # fmt: skip


class FileState(NamedTuple):
    """What tells whether a file is still the same."""

    size: int  # bytes
    version: str  # the time of the last change in ns, or an etag


class OtherFile(Protocol):
    """A file that the file system does not have: of a family of corpora that gets its bytes elsewhere."""

    @property
    def name(self) -> str:
        """Its name without folders; the suffix tells kind and compression."""

    @property
    def state(self) -> FileState:
        """Its state when it was listed."""

    def open(self, mode: Literal["rb"], buffering: int = -1, /) -> IO[bytes]:
        """Open it; the file can seek."""


CorpusFile: TypeAlias = Path | OtherFile
Readable: TypeAlias = Traversable | OtherFile


def state_of(file: CorpusFile) -> FileState:
    """Return the state of a file; raise ``InputError`` for one that cannot be looked at."""
    if not isinstance(file, Path):
        return file.state
    with named_errors(file, lambda: "looking at it"):
        about = file.stat()
    return FileState(about.st_size, str(about.st_mtime_ns))


class Extent(NamedTuple):
    """A file, or a range of it: the documents whose first byte is in the range."""

    file: CorpusFile
    start: int = 0
    stop: int | None = None  # None: the end of the file


def compression(name: str) -> str:
    """Return the compression suffix of a file name, or an empty string."""
    return next((suffix for suffix in OPENERS if name.lower().endswith(suffix)), "")


def blocks(file: Readable, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Read a file, decompressed by its suffix, in blocks of at most ``size`` bytes."""
    opener, at = OPENERS.get(compression(file.name), nullcontext), 0
    with named_errors(file, lambda: f"after {at:,} bytes of its content"), file.open("rb") as raw, opener(raw) as data:
        while block := data.read(size):
            at += len(block)
            yield block


@contextmanager
def named_errors(file: Readable, where: Callable[[], str], damage: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn read failures into ``InputError`` with the file, the position and the next step."""
    try:
        yield
    except InputError:
        raise
    except NeedsMemory as error:
        raise InputError(f"{file} {error}") from None
    except EOFError as error:
        raise InputError(f"{file} is cut short ({where()}); copy or download it again") from error
    except _DAMAGE + damage as error:
        raise InputError(f"{file} is damaged ({where()}: {error}); copy or download it again") from error
    except OSError as error:
        # gzip, bz2 and pyarrow report damage as OSError without an errno; the system always has one.
        if error.errno is None:
            raise InputError(f"{file} is damaged ({where()}: {error}); copy or download it again") from error
        raise InputError(f"cannot read {file}: {error.strerror}; check that it exists and its permissions") from error


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - the codec machinery gives nothing else here
    return UNREADABLE, error.end


codecs.register_error("pyharness.mark", _mark)


def decoded(data: Iterable[bytes]) -> Iterator[str]:
    """Decode blocks of UTF-8; each invalid sequence (as in ``errors="replace"``) becomes ``UNREADABLE``.

    UTF-8 cannot encode a surrogate, so the mark is unambiguous, and ``streaming`` counts it in its document.
    """
    return codecs.iterdecode(data, "utf-8", "pyharness.mark")


def decode(data: bytes) -> str:
    """Decode one whole string like ``decoded``."""
    return data.decode("utf-8", "pyharness.mark")


def numbered_lines(file: Readable, size: int = BLOCK_BYTES) -> Iterator[tuple[int, str]]:
    r"""Read the lines of a file as text without their ``\n``, numbered like ``parsed_lines``."""
    return parsed_lines(file, lambda lines: decode(lines).split("\n"), size)


def parsed_lines(file: Readable, parse: Callable[[bytes], list[T]], size: int = BLOCK_BYTES) -> Iterator[tuple[int, T]]:
    r"""Yield the items of ``parse``, one for each line, numbered from 1. Only ``\n`` ends a line.

    ``parse`` gets runs of whole lines with ``\n`` between them, none at the end.

    Raises:
        InputError: the file cannot be read, or has a line of more than about ``MAX_LINE_BYTES``.
    """
    number, held, length = 1, list[bytes](), 0
    for block in blocks(file, size):
        end = block.rfind(b"\n") + 1
        if end:
            items = parse(b"".join((*held, memoryview(block)[: end - 1])))
            yield from enumerate(items, number)
            number, held, length = number + len(items), [], 0
        held.append(block[end:])
        length += len(block) - end
        if length > MAX_LINE_BYTES:
            raise InputError(
                f"{file} line {number} is longer than {MAX_LINE_BYTES >> 20} MiB; "
                "lines of this kind of file are read whole: split it, or read the file as plain text"
            )
    if length:
        yield from enumerate(parse(b"".join(held)), number)


def lines_within(file: CorpusFile, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    r"""Read the lines that begin in a range of an uncompressed file, without their ``\n``.

    Lines are numbered from 1 if the range begins with the file, else from 2.
    """
    at, number = start, 1
    with named_errors(file, lambda: f"after {at:,} bytes of its content"), file.open("rb", LINE_BUFFER) as content:
        if start:
            content.seek(start - 1)
            skipped = content.readline(stop - start + 1)
            at, number = start - 1 + len(skipped), 2
            if not skipped.endswith(b"\n"):  # one line holds all of the range: it is of the part where it begins
                return
        while at < stop and (line := content.readline(MAX_LINE_BYTES + 1)):
            if len(line) > MAX_LINE_BYTES:
                raise InputError(
                    f"{file} has a line of more than {MAX_LINE_BYTES >> 20} MiB at byte {at:,}; "
                    "lines of this kind of file are read whole: split it, or read the file as plain text"
                )
            yield number, line.removesuffix(b"\n")
            at, number = at + len(line), number + 1


Kind: TypeAlias = Literal["text", "code", "jsonl", "parquet"]

# Deliberately without .json, .csv and .log: in most folders they are data about the text rather than text.
_SUFFIXES: dict[Kind, str] = {
    "text": ".txt .text .md .markdown .rst .adoc .org .tex .srt .vtt .po",
    "code": (
        ".py .pyi .c .h .cc .cpp .cxx .hh .hpp .hxx .cu .cuh .cs .java .kt .kts .scala .js .jsx .mjs "
        ".ts .tsx .go .rs .swift .m .rb .php .pl .pm .lua .r .jl .hs .ml .mli .fs .ex .exs .erl .clj .zig "
        ".sh .bash .zsh .ps1 .sql .html .htm .xml .css .scss .vue .yaml .yml .toml .ini .cfg .cmake .proto"
    ),
    "jsonl": ".jsonl .ndjson .jsonlines",
    "parquet": ".parquet .pq",
}
KINDS: dict[str, Kind] = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def kind(name: str) -> Kind | None:
    """Return the kind of a file, by its suffix before compression; ``None`` for an unknown suffix."""
    name = name.lower().removesuffix(compression(name))
    return KINDS.get(name[name.rfind(".") :]) if "." in name else None
