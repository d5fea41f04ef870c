"""Maps from old to new ids, the checks that editors of all formats share, and maps as JSON.

As JSON, a map is an array with the new id of each old one (-1: removed), or an object of the ids that stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

_DIGITS = len(str(BIGGEST_ID))
_String = TypeVar("_String", str, bytes)


@dataclass(frozen=True, slots=True)
class IdMap:
    """New id of each old id."""

    new: NDArray[np.int64]  # [old ids]; -1 where the token was removed
    size: int  # number of new ids

    def __len__(self) -> int:
        return len(self.new)


def check_new(tokens: Sequence[tuple[int, bytes]], label: str) -> None:
    """Refuse new tokens without a string, duplicate strings or ids, and invalid ids.

    Raises:
        InputError: there is such a token.
    """
    strings: set[bytes] = set()
    ids: set[int] = set()
    for token, string in tokens:
        if not 0 <= token < BIGGEST_ID:
            raise InputError(f"{label}: the new token {string!r} gets id {token}; ids are below {BIGGEST_ID:,}")
        if not string or string in strings or token in ids:
            raise InputError(f"{label}: the new token {string!r} (id {token}) is empty or occurs twice")
        strings.add(string)
        ids.add(token)


def check_absent(strings: Iterable[_String], present: Mapping[_String, int], label: str) -> None:
    """Refuse new strings that the file already has.

    Raises:
        InputError: there is such a string.
    """
    for string in strings:
        if string in present:
            raise InputError(f"{label} has the new token {string!r} already, as id {present[string]}")


def check_map(ids: IdMap, owners: Mapping[int, object], label: str, *, gaps: bool = True) -> None:
    """Refuse a map that lacks an id of the file, or changes the order of the ids that stay.

    ``owners``: the tokens of the file by id. ``gaps``: whether the new numbering may have gaps; otherwise each of 0, 1,
    2, ... needs an owner.

    Raises:
        InputError: the map does so, joins two ids, or goes beyond its size.
    """
    if (largest := max(owners)) >= len(ids):
        raise InputError(f"{label} has id {largest}, and the map is of {len(ids)} ids: it is of another file")
    kept = ids.new[np.array(sorted(owners))]
    kept = kept[kept >= 0]
    if (np.diff(kept) <= 0).any() or (len(kept) and int(kept[-1]) >= ids.size):
        raise InputError(f"{label}: the map of ids changes their order, joins two, or goes beyond {ids.size:,} new ids")
    if not gaps and not np.array_equal(kept, np.arange(len(kept))):
        raise InputError(f"{label} numbers its tokens without gaps, and the map of ids has some")


def moved(ids: IdMap, token: int, what: str, label: str) -> int:
    """Return the new id of a token that must stay; an id outside of the map is unchanged.

    Raises:
        InputError: the map removes the token, which messages call ``what``.
    """
    if token >= len(ids) or token < 0:
        return token
    if ids.new[token] < 0:
        refuse_removal(token, what, label)
    return int(ids.new[token])


def id_of_key(key: str) -> int | None:
    """Parse a key of a JSON object as an id in ASCII decimal digits; None where it is not one."""
    return int(key) if key.isascii() and key.isdecimal() and len(key) <= _DIGITS else None


def refuse_removal(token: int, what: str, label: str) -> NoReturn:
    """Raise ``InputError`` for a token that cannot be removed."""
    raise InputError(f"{label}: {what} has id {token}, which would be removed; keep that token")


def load(data: bytes, label: str, rows: int, size: int | None = None) -> IdMap:
    """Read a map.

    Args:
        data: ``[0, -1, 1]`` or ``{"0": 0, "2": 1}``. Rows after an array are padding; an object covers all rows.
        label: name of the map in errors.
        rows: number of rows of the matrices.
        size: number of new ids; None: the largest new id + 1.

    Raises:
        InputError: the data is no map, or has an invalid id.
    """
    pairs = _pairs(data, label)
    new = np.full(len(pairs) if data.lstrip()[:1] == b"[" else rows, -1, np.int64)
    for old, token in pairs:
        if type(old) is not int or old >= rows or type(token) is not int or not -1 <= token < BIGGEST_ID:
            raise InputError(
                f"{label} maps {str((old, token))[:60]}: old ids are below {rows:,}, new ones whole numbers or -1"
            )
        new[old] = token
    return IdMap(new, int(new.max(initial=-1)) + 1 if size is None else size)


def _pairs(data: bytes, label: str) -> list[tuple[Any, Any]]:
    if data.lstrip()[:1] == b"{":
        content = parse_json(data, label)
        return [(old if (number := id_of_key(old)) is None else number, new) for old, new in content.items()]
    try:
        array = json.loads(data)
    except (ValueError, RecursionError):
        array = None
    if not isinstance(array, list):
        raise InputError(f"{label} is not a map of ids: neither an array nor an object in JSON")
    return list(enumerate(array))
