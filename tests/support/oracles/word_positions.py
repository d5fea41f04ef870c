"""Where in a word a token stands, byte by byte."""

from __future__ import annotations

import regex


def places(text: str, pieces: list[bytes]) -> list[str]:
    """Byte by byte: the word of every byte, then for every token the words seen in the tokens before it."""
    words: list[int | None] = []
    for number, segment in enumerate(regex.split(r"(?V1w)\b", text)):
        is_word = regex.search(r"[\p{L}\p{N}]", segment) is not None
        words += [number if is_word else None] * len(segment.encode())
    held: dict[int, int] = {}
    named, start = [], 0
    for piece in pieces:
        inside = [word for word in words[start : start + len(piece)] if word is not None]
        place = held.get(inside[0], 0) if inside else None
        named.append("outside" if place is None else "3+" if place >= 3 else str(place))
        for word in set(inside):
            held[word] = held.get(word, 0) + 1
        start += len(piece)
    return named


def length_class(size: int) -> str:
    """Name of the class of tokens of so many bytes; 0: none."""
    return "0" if size == 0 else str(size) if size < 4 else "4-5" if size < 6 else "6-8" if size < 9 else "9+"
