"""Text from files, for terminals and tables: nothing in it acts on its reader."""

from __future__ import annotations

import re
from typing import TypeAlias

CellValue: TypeAlias = float | int | str | None

_CONTROL = re.compile(  # also lone surrogates, which no terminal or file can be given
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Show control and bidirectional characters as escapes: a token must not drive the terminal.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def writable(value: CellValue) -> CellValue:
    r"""Escape lone surrogates, which come from file names: no UTF-8 file can hold them.

    >>> writable("a\udcff"), writable(1.5)
    ('a\\udcff', 1.5)
    """
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a long name: both ends tell names apart.

    >>> shorten("file:/a/long/path/tokenizer.json", 16)
    'file:…nizer.json'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"
