"""Text to documents, in memory bounded by a document's limit, ``KEY_BYTES`` and the longest fragment.

A document travels as fragments, so that even an endless one needs little memory. Its pieces after a cut share one key,
its beginning, so that intervals know which belong together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from pyharness.kernels.text import TextRun, utf8_size

T = TypeVar("T")
R = TypeVar("R", bound=TextRun)  # none of them where a corpus is read text by text

# Longer runs of spaces are text: a possible blank line has to be held back.
LONGEST_BLANK_LINE = 1000
# UTF-8 bytes at the start of a document that identify it, wherever it is cut. They are more than a licence header,
# which many source files share, and few enough to hold back. Documents that share them share a group.
KEY_BYTES = 1 << 16
UNCUT = 1 << 62  # bytes: what the core takes for no limit


class Fragment(NamedTuple):
    """A document, or a part of one."""

    text: str
    ends: bool = True  # the document ends after it
    work: str = ""  # the work that the document belongs to, where a file names it


class Cut(NamedTuple):
    """A document, or one of the pieces that it was cut into. The concatenated pieces are the document."""

    text: str
    key: str  # the first ``KEY_BYTES`` of the document, or fewer, which all its pieces share
    opens: bool  # the first piece of its document, or all of it
    parted: bool  # the first piece of a document that had to be cut
    work: str = ""


def whole(texts: Iterable[str]) -> Iterator[Fragment]:
    """Make one document of all text, to the last byte."""
    for text in texts:
        yield Fragment(text, ends=False)
    yield Fragment("")


def lines(texts: Iterable[str]) -> Iterator[Fragment]:
    r"""Make a document of every line, without its ``\n``; only ``\n`` ends a line, and a ``\r`` stays."""
    inside = False
    for text in texts:
        *ended, rest = text.split("\n")
        for line in ended:
            yield Fragment(line)
        inside = bool(rest) or (inside and not ended)
        if rest:
            yield Fragment(rest, ends=False)
    if inside:
        yield Fragment("")


def paragraphs(texts: Iterable[str]) -> Iterator[Fragment]:
    r"""Make documents of runs of lines between blank ones (only spaces, tabs and ``\r``), without the last ``\n``."""
    inside = False
    line: str | None = ""  # the line so far, while it may still be blank
    for text, ends, _ in lines(texts):
        if line is None:
            yield Fragment(text, ends=False)
        else:
            line += text
            if len(line) > LONGEST_BLANK_LINE or line.strip(" \t\r"):
                yield Fragment(("\n" if inside else "") + line, ends=False)
                inside, line = True, None
            elif ends and inside:
                yield Fragment("")
                inside = False
        if ends:
            line = ""
    if inside:
        yield Fragment("")


SPLITS: Mapping[str, Callable[[Iterable[str]], Iterator[Fragment]]] = {
    "file": whole,
    "line": lines,
    "paragraph": paragraphs,
}


def pieces(fragments: Iterable[Fragment | R], limit: int) -> Iterator[Cut | R]:
    """Join fragments to documents of at most ``limit`` UTF-8 bytes, cutting longer ones.

    Pieces end after the last newline that fits, else after the last space, else between two code points. The key of a
    document is known, and its first piece passed on, when it ends or exceeds both ``KEY_BYTES`` and ``limit``. Runs are
    of whole documents, cut by the same rules.
    """
    held: list[bytes] = []
    size = 0
    key: str | None = None  # of a document whose first piece was yielded
    for fragment in fragments:
        if isinstance(fragment, TextRun):
            yield fragment
            continue
        text, ends, work = fragment
        if ends and not held and key is None and (length := utf8_size(text)) is not None and length <= limit:
            beginning = text if length <= KEY_BYTES else _beginning([text.encode()])
            yield Cut(text, beginning, opens=True, parted=False, work=work)
            continue
        # Surrogates mark invalid bytes, and count three bytes, like the U+FFFD that replaces them.
        held.append(text.encode("utf-8", "surrogatepass"))
        size += len(held[-1])
        if not ends and size <= (limit if key is not None else max(limit, KEY_BYTES)):
            continue
        *full, rest = _parts(b"".join(held), limit)
        opens, key = key is None, _beginning(held) if key is None else key
        for part in full:
            yield Cut(_unpack(part), key, opens, parted=opens, work=work)
            opens = False
        if ends:
            yield Cut(_unpack(rest), key, opens, parted=False, work=work)
        held, size, key = ([], 0, None) if ends else ([rest], len(rest), key)


def unrolled(items: Iterable[T | TextRun]) -> Iterator[T | Cut]:
    """Stream the texts of runs one by one."""
    for item in items:
        if isinstance(item, TextRun):
            yield from itertools.starmap(Cut, item.pieces())
        else:
            yield item


def _parts(data: bytes, limit: int) -> list[bytes]:
    """Cut bytes into parts of at most ``limit``; the last part is the rest, possibly all of them."""
    parts, start = [], 0
    while len(data) - start > limit:
        stop = _cut(data, start, start + limit)
        parts.append(data[start:stop])
        start = stop
    return [*parts, data[start:]]


def _beginning(held: list[bytes]) -> str:
    data = b"".join(held)[: KEY_BYTES + 1]
    if len(data) <= KEY_BYTES:
        return _unpack(data)
    stop = KEY_BYTES
    while data[stop] & 0xC0 == 0x80:
        stop -= 1
    return _unpack(data[:stop])


def _cut(data: bytes, start: int, stop: int) -> int:
    for separator in (b"\n", b" "):
        if (at := data.rfind(separator, start, stop)) >= 0:
            return at + 1
    while data[stop] & 0xC0 == 0x80:
        stop -= 1
    return stop


def _unpack(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
