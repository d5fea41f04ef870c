"""Faults planted in rank files, each with the check and the fault that must name it."""

from __future__ import annotations

import base64
from collections.abc import Callable

DataDamage = tuple[Callable[[bytes], bytes], str, str]


def lines(data: bytes) -> list[tuple[bytes, int]]:
    pairs = (line.split() for line in data.splitlines())
    return [(base64.b64decode(token), int(rank)) for token, rank in pairs]


def ranks(pairs: list[tuple[bytes, int]]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in pairs)


def _swapped(data: bytes) -> bytes:
    """A token and a part of it change ranks."""
    by_token = dict(lines(data))
    whole, part = next((t, t[:-1]) for t in reversed(by_token) if len(t) > 2 and len(t[:-1]) > 1 and t[:-1] in by_token)
    by_token[whole], by_token[part] = by_token[part], by_token[whole]
    return ranks(sorted(by_token.items(), key=lambda one: one[1]))


def _without_byte(data: bytes) -> bytes:
    """A byte that no longer token has is gone; an unused string has its rank."""
    pairs = lines(data)
    used = {byte for token, _ in pairs if len(token) > 1 for byte in token}
    gone = next(token for token, _ in pairs if len(token) == 1 and token[0] not in used and token[0] < 0x80)
    return ranks([(b"\x01\x02\x03\x04" if token == gone else token, rank) for token, rank in pairs])


def _twice(data: bytes) -> bytes:
    pairs = lines(data)
    return ranks([*pairs, (pairs[0][0], pairs[-1][1] + 1)])


OF_RANKS: dict[str, DataDamage] = {
    "swapped ranks": (_swapped, "ids", "rank out of order"),
    "missing byte": (_without_byte, "file", "file is refused"),
    "token twice": (_twice, "file", "file is refused"),
    "rank twice": (lambda data: ranks([*lines(data), (b"zqzq", 7)]), "file", "file is refused"),
    "rank of 2**40": (lambda data: ranks([*lines(data), (b"zqzq", 1 << 40)]), "file", "file is refused"),
    "negative rank": (lambda data: ranks([*lines(data), (b"zqzq", -1)]), "file", "file is refused"),
    "cut within a line": (lambda data: data[:-5], "file", "file is refused"),
    "no base64": (lambda data: data + b"%%% 9\n", "file", "file is refused"),
    "empty": (lambda data: b"", "file", "file is refused"),
}
