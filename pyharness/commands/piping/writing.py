"""Ids as ``encode`` writes them, as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from pyharness.types import Ids

Format: TypeAlias = Literal["text", "json", "uint32"]
IDS_AT_A_TIME = 1 << 16  # as numbers of Python, which take 15 times the space
_MARKS: Mapping[Format, tuple[str, str, str]] = {"text": ("", " ", "\n"), "json": ("[", ", ", "]\n")}


def written(parts: Iterable[tuple[Ids, bool]], form: Format) -> Iterator[bytes]:
    """Bytes of ids, which come with whether their document ends."""
    if form == "uint32":
        yield from (ids.astype("<u4").tobytes() for ids, _ in parts)
        return
    opening, between, closing = _MARKS[form]
    before, begun = opening, False
    for ids, ends in parts:
        if ends and not begun and len(ids) <= IDS_AT_A_TIME:  # most lines
            yield f"{opening}{between.join(map(str, ids.tolist()))}{closing}".encode()
            continue
        for start in range(0, len(ids), IDS_AT_A_TIME):
            numbers = between.join(map(str, ids[start : start + IDS_AT_A_TIME].tolist()))
            last = ends and start + IDS_AT_A_TIME >= len(ids)
            yield f"{before}{numbers}{closing if last else ''}".encode()
            before, begun = between, not last
        if ends:
            if begun or not len(ids):
                yield f"{'' if begun else opening}{closing}".encode()
            before, begun = opening, False
