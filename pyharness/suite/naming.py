"""Names of rows and texts: ``NAME=SPEC`` taken apart, and names that tables and lists could not hold refused."""

from __future__ import annotations

import re
import unicodedata

from pyharness.types import InputError

# A specification has no "=" before its first ":" or "?"; one in a path is behind a "/" or its family's colon.
_NAMED = re.compile(r"([^:?=/]+)=(.+)", re.DOTALL)
_BREAKS = ("Cc", "Zl", "Zp")  # categories of Unicode: controls, and ends of lines and paragraphs


def named(text: str) -> tuple[str | None, str]:
    """Take ``NAME=SPEC`` apart; a specification alone has no name. Raises ``InputError`` for a name that is none.

    >>> named("o200k=file:/x/o200k_base.tiktoken?pattern=o200k_base")
    ('o200k', 'file:/x/o200k_base.tiktoken?pattern=o200k_base')
    >>> named("file:/x/a=b.json"), named("sample?max_bytes=2kB")
    ((None, 'file:/x/a=b.json'), (None, 'sample?max_bytes=2kB'))
    """
    if (match := _NAMED.fullmatch(text)) is None:
        return None, text
    check(match[1])
    if "," in match[1]:
        raise InputError(f"the name {match[1]!r} has a comma, which stands between names in a list: leave it out")
    return match[1], match[2]


def check(name: str) -> None:
    """Refuse a name that a line of a table could not hold, or that would be taken for another."""
    if name != name.strip():
        raise InputError(f"the name {name!r} is blank, or begins or ends with white space: write it without")
    if any(unicodedata.category(character) in _BREAKS for character in name):
        raise InputError(f"the name {name!r} has a line end or a control character: leave it out")
