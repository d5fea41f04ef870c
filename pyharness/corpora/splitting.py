"""Text to documents, without holding more than one document's limit.

A document travels as fragments ``(text, ends)``, so that one without an end in sight needs no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

Fragment: TypeAlias = tuple[str, bool]  # text, and whether the document ends after it

# Longer runs of spaces are text: what may still turn out to be a blank line has to be held back.
LONGEST_BLANK_LINE = 1000


def whole(texts: Iterable[str]) -> Iterator[Fragment]:
    """All text is one document, to the last byte."""
    for text in texts:
        yield text, False
    yield "", True


def lines(texts: Iterable[str]) -> Iterator[Fragment]:
    r"""Every line is a document, without its ``\n``; nothing else ends a line, and a ``\r`` stays."""
    inside = False
    for text in texts:
        *ended, rest = text.split("\n")
        for line in ended:
            yield line, True
        inside = bool(rest) or (inside and not ended)
        if rest:
            yield rest, False
    if inside:
        yield "", True


def paragraphs(texts: Iterable[str]) -> Iterator[Fragment]:
    r"""Runs of lines between blank ones (only spaces, tabs and ``\r``), without the last ``\n``."""
    inside = False
    line: str | None = ""  # the line so far, while it may still be a blank one
    for text, ends in lines(texts):
        if line is None:
            yield text, False
        else:
            line += text
            if not _is_blank(line):
                yield ("\n" if inside else "") + line, False
                inside, line = True, None
            elif ends and inside:
                yield "", True
                inside = False
        if ends:
            line = ""
    if inside:
        yield "", True


def _is_blank(line: str) -> bool:
    return len(line) <= LONGEST_BLANK_LINE and not line.strip(" \t\r")


SPLITS: Mapping[str, Callable[[Iterable[str]], Iterator[Fragment]]] = {
    "file": whole,
    "line": lines,
    "paragraph": paragraphs,
}


def pieces(fragments: Iterable[Fragment], limit: int) -> Iterator[tuple[str, bool]]:
    """Join fragments to documents of at most ``limit`` UTF-8 bytes, cutting longer ones.

    The flag marks the first piece of a document that had to be cut. Pieces end after the last newline that
    fits, else after the last space, else between two code points; put together again they are the document.
    """
    held: list[bytes] = []
    size = 0
    first = True
    for text, ends in fragments:
        if ends and not held and len(text) * 4 <= limit:
            yield text, False
            continue
        held.append(_packed(text))
        size += len(held[-1])
        if size > limit:
            data = b"".join(held)
            start = 0
            while len(data) - start > limit:
                stop = _cut(data, start, start + limit)
                yield _unpacked(data[start:stop]), first
                start, first = stop, False
            held = [data[start:]]
            size = len(held[0])
        if ends:
            yield _unpacked(b"".join(held)), False
            held, size, first = [], 0, True


def _cut(data: bytes, start: int, stop: int) -> int:
    for separator in (b"\n", b" "):
        if (at := data.rfind(separator, start, stop)) >= 0:
            return at + 1
    while data[stop] & 0xC0 == 0x80:
        stop -= 1
    return stop


# Surrogates pass: they mark what could not be read, and take the three bytes that U+FFFD will take.
def _packed(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unpacked(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
