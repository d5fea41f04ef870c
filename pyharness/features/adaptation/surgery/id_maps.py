"""Maps of ids as JSON: an array with the new id of each old one, -1 where it goes, or an object of those that stay."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pyharness.features.adaptation.editing.moved_ids import id_of_key
from pyharness.features.adaptation.types import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


def load(data: bytes, label: str, rows: int, size: int | None = None) -> IdMap:
    """Read a map.

    Args:
        data: ``[0, -1, 1]`` or ``{"0": 0, "2": 1}``. Rows behind an array are padding; an object speaks of all rows.
        label: what errors call it.
        rows: of the matrices.
        size: number of new ids; as the largest needs, where it is None.

    Raises:
        InputError: it is no map, or names an id that is none.
    """
    pairs = _pairs(data, label)
    if wrong := [pair for pair in pairs if not _fits(pair, rows)]:
        raise InputError(f"{label} maps {str(wrong[0])[:60]}: old ids are below {rows:,}, new ones whole numbers or -1")
    new = np.full(len(pairs) if data.lstrip()[:1] == b"[" else rows, -1, np.int64)
    for old, token in pairs:
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
        raise InputError(f"{label} is no map of ids: neither an array nor an object in JSON")
    return list(enumerate(array))


def _fits(pair: tuple[Any, Any], rows: int) -> bool:
    old, new = pair
    return type(old) is int and old < rows and type(new) is int and -1 <= new < BIGGEST_ID
