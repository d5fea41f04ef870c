"""Slow reference of cutting texts at added tokens: one text, one token at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import regex

from pyharness.vocabularies.huggingface.file import AddedToken

WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")  # \w of Rust's regex
# White_Space of Unicode, which Rust's regex and so the library goes by; str.isspace() has U+001C to U+001F too.
SPACE = [
    chr(point).encode()
    for point in (
        *range(9, 14),
        0x20,
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
    )
]
SPACES = re.compile(b"(?:" + b"|".join(SPACE) + b")*")


def cut(data: bytes, tokens: Sequence[AddedToken], off: frozenset[int]) -> list[bytes | int]:
    """Ids of the tokens and what stands between them; a text without tokens is one stretch."""
    parts: list[bytes | int] = []
    at = 0
    for start, end, number in matches(data, tokens, off):
        if at < start:
            parts.append(data[at:start])
        parts.append(number)
        at = end
    if at < len(data) or not data:
        parts.append(data[at:])
    return parts


def matches(data: bytes, tokens: Sequence[AddedToken], off: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """Start, end and id of what is mapped. Where a token took spaces along, the next can start before its end."""
    after = 0  # end of the latest match
    for at, token in found(data, tokens):
        start, end = at, at + len(token.content.encode())
        if token.id in off or (token.single_word and not stands_alone(data, start, end)):
            continue
        if token.lstrip:
            start = max(after, spaces_start(data, start))
            if start >= end:  # it is all spaces that the last one took along
                continue
        if token.rstrip:
            spaces = SPACES.match(data, end)
            assert spaces is not None  # it matches nothing as well
            end = spaces.end()
        after = end
        yield start, end, token.id


def found(data: bytes, tokens: Sequence[AddedToken]) -> Iterator[tuple[int, AddedToken]]:
    """Leftmost first, the longest of those that start together, the first of equal ones."""
    at = 0
    while at < len(data):
        here = [token for token in tokens if token.content and data.startswith(token.content.encode(), at)]
        if here:
            longest = max(here, key=lambda token: len(token.content.encode()))
            yield at, longest
            at += len(longest.content.encode())
        else:
            at += 1


def spaces_start(data: bytes, end: int) -> int:
    """Where the white space starts that ends at ``end``."""
    while space := next((space for space in SPACE if data.endswith(space, 0, end)), b""):
        end -= len(space)
    return end


def stands_alone(data: bytes, start: int, end: int) -> bool:
    """Whether no word goes on beside it. A character has four bytes at most, and bytes that are none are ignored."""
    before = data[max(start - 4, 0) : start].decode(errors="ignore")[-1:]
    behind = data[end : end + 4].decode(errors="ignore")[:1]
    return not WORD.match(before) and not WORD.match(behind)
