"""Whole characters around bytes that start or end within one, for texts that have a part of a character as a token."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

_MOST_ENDS = 64  # characters that end, and that start, with the bytes of a token
_END_OF_CHARACTERS = 0x20000  # rare ideographs come after it
_T = TypeVar("_T")


def spread(items: Sequence[_T], most: int) -> Sequence[_T]:
    """Return at most so many items, from all over."""
    return items if len(items) <= most else [items[number * len(items) // most] for number in range(most)]


@cache
def _characters() -> Sequence[bytes]:
    codes = (chr(code) for code in range(0x80, _END_OF_CHARACTERS))
    return [letter.encode() for letter in codes if unicodedata.category(letter) not in ("Cs", "Cn", "Co")]


def completed(token: bytes) -> Iterator[bytes]:
    """Yield spellings of whole characters that contain bytes which start or end within a character.

    >>> "中".encode() in completed("中".encode()[:2])
    True
    """
    head = token[: len(token) - len(token.lstrip(bytes(range(0x80, 0xC0))))]
    if head == token:  # the end of a character, or its middle
        yield from (letter for letter in _characters() if token in letter)
        return
    body, tail = token[len(head) :], b""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        body, tail = body[: error.start], body[error.start :]
    heads = [letter[: len(letter) - len(head)] for letter in _characters() if letter.endswith(head)] if head else [b""]
    tails = [letter[len(tail) :] for letter in _characters() if letter.startswith(tail)] if tail else [b""]
    for before, after in itertools.product(spread(heads, _MOST_ENDS), spread(tails, _MOST_ENDS)):
        yield before + head + body + tail + after
