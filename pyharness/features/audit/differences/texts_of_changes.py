"""Texts made of one change: its token, its strings, words of its lengths, and the characters around parts of one."""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

from pyharness.features.audit.differences.changes import Change, shown
from pyharness.features.audit.differences.definitions import ADDED, strings_of

MOST_LETTERS = 256  # of the strings of a changed stage
MOST_PLACES = 64  # of a long text that are varied, from all over it
LONGEST_VARIED = 512  # characters of a text that is varied at places, or shrunk from several starts
OF_ADDED = (ADDED, "special flag", "added token flags")  # changes whose cause is one added token
LENGTH, _USUAL_LENGTH, _LONGEST_WORD = "max_input_chars_per_word", 100, 1 << 10  # an option of WordPiece
_END_OF_CHARACTERS = 0x20000  # rare ideographs come after it
# One character of each class that split patterns and normalisers distinguish, and the ends of contractions.
REPRESENTATIVES = (
    "a", "A", "1", " ", "\n", "\r", "\t", ".", "'", "/", "_", "é", "\u0301", "中", "ا", "ﬁ", "Ａ", "K", "か", "\u3000",
    "s", "ll", "T", "😀", "²", "-", "▁", "ß", "\u200d", "ก", "İ", "\u0e33", "º", "€", "0", "e\u0301",
)  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")
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
    first, end = (bisect.bisect_left(_characters(), tail + last) for last in (b"", b"\xff"))
    tails = [letter[len(tail) :] for letter in _characters()[first:end]] if tail else [b""]
    for before, after in itertools.product(spread(heads, MOST_PLACES), spread(tails, MOST_PLACES)):
        yield before + head + body + tail + after


def around(change: Change) -> Iterator[str]:
    """Yield texts with the token of a change: alone, next to letters, spaces and itself, and normalised otherwise."""
    written = shown(change.token or b"")
    string = written.replace("▁", " ")
    bare = string.removeprefix("##").removesuffix("</w>")
    # An added token may have ▁ in its name, which is then no space.
    for text in dict.fromkeys((written, string, bare, bare.strip())):
        yield from (text, f" {text}", f"a{text}", f"{text}a", f"a {text} a", f"a  {text}  a", f"{text}{text}")
        if change.kind in OF_ADDED:
            yield from (f"{text} {text}", f"a\n{text}\na", f"1{text}1", f".{text}.", f"_{text}_")
            yield from _normalised(text)


def _normalised(text: str) -> Iterator[str]:
    """Yield spellings that a normaliser may turn into the text."""
    for other in (text.upper(), text.lower(), text.swapcase(), *(unicodedata.normalize(form, text) for form in
                  ("NFD", "NFC", "NFKD", "NFKC"))):  # fmt: skip
        yield from (other, f"a{other}a")
    if len(text) > LONGEST_VARIED:
        return
    yield from (text[:at] + "\u0301" + text[at:] for at in spread(range(1, len(text)), MOST_PLACES))
    wide: dict[int, str | int] = {ord(" "): "\u3000", **{code: code + 0xFEE0 for code in range(0x21, 0x7F)}}
    yield text.translate(wide)
    for at in spread(range(len(text)), MOST_PLACES):
        yield text[:at] + text[at].translate(wide) + text[at + 1 :]
        if text[at] == "K":
            yield text[:at] + "\u212a" + text[at + 1 :]


def of_lengths(change: Change) -> Iterator[str]:
    """Yield words as long as each side takes, and longer by a letter."""
    for stated in (change.before, change.after):
        length = _USUAL_LENGTH if stated is None else stated
        if type(length) is int and 0 <= length <= _LONGEST_WORD:
            yield from (letter * count for letter in "aA1" for count in (length, length + 1))


def of_stage(change: Change) -> Iterator[str]:
    """Yield the strings that a changed stage is written with, and their characters, next to all classes."""
    strings = dict.fromkeys((*strings_of(change.before), *strings_of(change.after)))
    letters = [*dict.fromkeys("".join(strings))]
    for text in dict.fromkeys((*strings, *spread(letters, MOST_LETTERS))):
        if len(text) <= LONGEST_VARIED and is_text(text):
            yield from (text, f"{text}{text}")
            yield from (f"{one}{text}{another}" for one in REPRESENTATIVES for another in ("", one))
            yield from (f"{text}{one}" for one in REPRESENTATIVES)


def is_text(text: str) -> bool:
    """Return whether UTF-8 can hold a text: it has no half of a surrogate pair."""
    return text.isascii() or _SURROGATE.search(text) is None
