"""Bytes written as text: one printable character each (the byte alphabet of GPT-2), or pieces like ``<0x41>``."""

from __future__ import annotations

import re

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_ALPHABET = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(256 + index) for index, byte in enumerate(sorted(set(range(256)) - set(_PRINTABLE)))
}
NEVER_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))

_LETTERS = dict(enumerate(BYTE_ALPHABET[byte] for byte in range(256)))
_NO_BYTE = "\uffff"  # not in Latin-1, so a character outside the alphabet is noticed
_BYTES = dict.fromkeys(range(256), _NO_BYTE) | {ord(letter): chr(byte) for byte, letter in BYTE_ALPHABET.items()}


def in_letters(data: bytes) -> str:
    """Write bytes as letters of the alphabet.

    >>> in_letters(b" the\\n")
    'ĠtheĊ'
    """
    return data.decode("latin-1").translate(_LETTERS)


def of_letters(text: str) -> bytes:
    """Return the bytes of a text in the alphabet.

    >>> of_letters("ĠtheĊ")
    b' the\\n'

    Raises:
        UnicodeEncodeError: a character is not in the alphabet; ``start`` is its position in the text.
    """
    return text.translate(_BYTES).encode("latin-1")


def alphabet_bytes(token: str) -> bytes:
    """Return the bytes of a token in the alphabet; a token with any other character is encoded as UTF-8.

    >>> alphabet_bytes("Ġthe"), alphabet_bytes("<中>")
    (b' the', b'<\\xe4\\xb8\\xad>')
    """
    try:
        return of_letters(token)
    except UnicodeEncodeError:
        return token.encode(errors="surrogatepass")


def byte_of(piece: str) -> int | None:
    """Return the byte of a fallback piece: ``<0x41>`` is 65; None for any other piece.

    The decoder ByteFallback of ``tokenizers`` reads ``<0x+1>``, too: it is 1.
    """
    return int(piece[3:5], 16) if re.fullmatch("<0x[+0-9A-Fa-f][0-9A-Fa-f]>", piece) else None
