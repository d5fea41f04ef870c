"""A document spelled in another style, with the same leaves: names in camel or snake case, spaces around operators.

>>> from pyharness.features.code.lexing import lex_python
>>> text = b"my_sum=first_one +2"
>>> leaves = lex_python(text.decode())
>>> [rewritten(text, leaves, style).decode() for style in ("camel", "tight", "spaced")]
['mySum=firstOne +2', 'my_sum=first_one+2', 'my_sum = first_one + 2']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from pyharness.features.code.lexing import COMPOUND, DELIMITER, IDENTIFIER, LITERAL, OPERATOR, Leaves

_SMALL = rb"[a-z0-9]+"
_SNAKE = re.compile(rb"(?=[a-z])%b(?:_%b)+" % (_SMALL, _SMALL))
_CAMEL = re.compile(rb"(?=[a-z])%b(?:[A-Z]%b)+" % (_SMALL, _SMALL))
_OPERATORS = (OPERATOR, COMPOUND)
_OPERANDS = (IDENTIFIER, LITERAL, DELIMITER)
_SPACES = re.compile(rb"[ \t]*")
# Two bytes that do not join: neither would end an operator, or both are of words, as in Kotlin's ``a !in b``.
_KEPT_APART = re.compile(rb"[^\w\x80-\xff\"'()\[\]{}]{2}|[\w\x80-\xff]{2}")

Edit = tuple[int, int, bytes]  # start and stop in bytes, and what stands there instead


def rewritten(data: bytes, leaves: Leaves, style: str) -> bytes | None:
    """Return a document in UTF-8 in another style, a key of ``STYLES``; None if nothing changes."""
    parts, copied = [], 0
    for start, stop, instead in STYLES[style](data, leaves):
        parts += [data[copied:start], instead]
        copied = stop
    return b"".join((*parts, data[copied:])) if parts else None


def _names(pattern: re.Pattern[bytes], rename: Callable[[bytes], bytes]) -> Callable[[bytes, Leaves], Iterator[Edit]]:
    def edits(data: bytes, leaves: Leaves) -> Iterator[Edit]:
        rows = zip(leaves.starts.tolist(), leaves.stops.tolist(), leaves.kinds.tolist(), strict=True)
        for start, stop, kind in rows:
            if kind == IDENTIFIER and pattern.fullmatch(data, start, stop):
                yield start, stop, rename(data[start:stop])

    return edits


def _camel(name: bytes) -> bytes:
    first, *others = name.split(b"_")
    return b"".join((first, *map(bytes.capitalize, others)))


def _snake(name: bytes) -> bytes:
    return re.sub(rb"[A-Z]", lambda capital: b"_" + capital[0].lower(), name)


def _tight(data: bytes, leaves: Leaves) -> Iterator[Edit]:
    """Remove the space between an operator and an operand, where the two stay two leaves."""
    for start, stop in _operator_gaps(data, leaves):
        if stop > start and not _KEPT_APART.match(data[start - 1 : start] + data[stop : stop + 1]):
            yield start, stop, b""


def _spaced(data: bytes, leaves: Leaves) -> Iterator[Edit]:
    """Put a space between an operator and an operand that touch."""
    for start, stop in _operator_gaps(data, leaves):
        if stop == start:
            yield start, stop, b" "


def _operator_gaps(data: bytes, leaves: Leaves) -> Iterator[tuple[int, int]]:
    """Yield the gaps on one line between an operator and an operand, on either side."""
    rows = zip(leaves.starts.tolist(), leaves.stops.tolist(), leaves.kinds.tolist(), strict=True)
    for (_, stop, kind), (start, _, next_kind) in pairwise(rows):
        meet = (kind in _OPERATORS and next_kind in _OPERANDS) or (kind in _OPERANDS and next_kind in _OPERATORS)
        if meet and _SPACES.fullmatch(data, stop, start):
            yield stop, start


STYLES: Mapping[str, Callable[[bytes, Leaves], Iterator[Edit]]] = {
    "camel": _names(_SNAKE, _camel),
    "snake": _names(_CAMEL, _snake),
    "tight": _tight,
    "spaced": _spaced,
}
