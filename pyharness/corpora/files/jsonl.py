"""JSON Lines, one object per line. A bad line is an error: skipping it would change the text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

from pyharness.corpora.files.reading import numbered_lines
from pyharness.types import InputError


def rows(file: Traversable) -> Iterator[tuple[int, dict[str, Any]]]:
    """Stream the objects of a file with their line numbers; blank lines do not count as rows."""
    for number, line in numbered_lines(file):
        text = line.removeprefix("\ufeff") if number == 1 else line
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file} line {number} is not JSON ({error}); correct or remove the line") from error
        if not isinstance(row, dict):
            raise InputError(f'{file} line {number} is {kind_of(row)}, not an object like {{"text": "..."}}')
        yield number, row


def value(file: Traversable, number: int, row: dict[str, Any], field: str) -> Any:
    """Return one field of a row, or say which fields there are."""
    if field not in row:
        known = ", ".join(map(repr, list(row)[:20])) or "nothing"
        raise InputError(f"{file} line {number} has no field {field!r}; it has {known}: choose one with ?field=")
    return row[field]


def strings(file: Traversable, field: str) -> Iterator[str]:
    """Stream the text in ``field`` of every row."""
    for number, row in rows(file):
        text = value(file, number, row, field)
        if not isinstance(text, str):
            hint = (
                f"for aligned rows use 'parallel:{file}'" if isinstance(text, dict) else "choose another with ?field="
            )
            raise InputError(f"{file} line {number}: field {field!r} is {kind_of(text)}, not a string; {hint}")
        yield text


def kind_of(item: object) -> str:
    """Name the JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(item), "a number")
