"""Text of ids as they come, one after the other: characters are given when they are whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator

from pyharness.types import InputError

REPLACEMENT = "\ufffd"


def text_of_bytes(tokens: Iterable[bytes]) -> Iterator[str]:
    """Text of tokens that are laid end to end. Bytes that are no UTF-8 become U+FFFD."""
    characters = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for data in tokens:
        if text := characters.decode(data):
            yield text
    if text := characters.decode(b"", final=True):
        yield text


def text_of_windows(
    ids: Iterable[int], decode: Callable[[list[int]], str], goes_on: Callable[[int], bool]
) -> Iterator[str]:
    """Text of ids that only a decoder of ``tokenizers`` can join, which looks at neighbours.

    Decodes the ids since the latest text but one, and gives what they add to it, as ``DecodeStream`` of the library
    does, but never behind an id that ``goes_on``: its text depends on what follows.

    Raises:
        InputError: the decoder goes back on text that was given.
    """
    window: list[int] = []
    known, given = "", 0  # text of the first `given` ids of the window
    for token in ids:
        window.append(token)
        if goes_on(token):
            continue
        text = decode(window)
        if len(text) > len(known) and not text.endswith(REPLACEMENT):
            yield _added(known, text)
            del window[:given]
            known, given = decode(window), len(window)
    rest = decode(window) if window else ""
    if len(rest) > len(known):
        yield _added(known, rest)


def _added(known: str, text: str) -> str:
    if not text.startswith(known):
        raise InputError(
            f"the decoder of the file makes {text[-40:]!r} of {known[-40:]!r} when more tokens come: "
            "decode all ids at once"
        )
    return text[len(known) :]
