"""JSON Lines, one object per line. A bad line is an error: skipping it would change the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pyharness.corpora.files import reading
from pyharness.corpora.files.reading import Extent, Readable, compression, decode, lines_within, numbered_lines
from pyharness.corpora.files.splitting import KEY_BYTES, UNCUT, Fragment
from pyharness.kernels.text import JsonTexts, TextRun
from pyharness.types import InputError

_PART = re.compile(r"#[0-9A-Za-z_]+\Z")  # number of a part of a work: ``Poems.md#12``, ``menu.html#par_7``


def rows(file: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    """Stream the objects of a file with their line numbers; blank lines do not count as rows."""
    return ((number, row) for number, line in numbered_lines(file) if (row := _row(file, number, line)) is not None)


def _row(file: Readable, number: int, line: str) -> dict[str, Any] | None:
    text = line.removeprefix("\ufeff" if number == 1 else "")
    if not text.strip():
        return None
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} line {number} is not JSON ({error}); correct or remove the line") from error
    if not isinstance(row, dict):
        raise InputError(f'{file} line {number} is {kind_of(row)}, not an object like {{"text": "..."}}')
    return row


def value(file: Readable, number: int, row: dict[str, Any], field: str, option: str = "field") -> Any:
    """Return one field of a row, or raise ``InputError`` with the known fields and the ``option`` that selects one.

    In nested objects, ``outer.inner`` names a field, unless a field has exactly that name.
    """
    if field not in row:
        outer, _, inner = field.partition(".")
        if inner and isinstance(row.get(outer), dict):
            return value(file, number, row[outer], inner, option)
        fields = ", ".join(map(repr, list(row)[:20])) or "nothing"
        raise InputError(f"{file} line {number} has no field {field!r}; it has {fields}: choose one with ?{option}=")
    return row[field]


def documents_within(extent: Extent, field: str, work: str, limit: int) -> Iterator[Fragment | TextRun]:
    """Stream the rows that begin in a range of a file, like ``documents``; a compressed file is read whole."""
    file, start, stop = extent
    if stop is None or compression(file.name):
        if start == 0:
            yield from documents(file, field, work, limit)
        return
    try:
        yield from documents(file, field, work, limit, lines_within(file, start, stop))
    except InputError as error:
        counted = f" (line 2 begins at byte {start:,}, or is the first after it)" if start else ""
        raise InputError(f"{error}{counted}") from None


def documents(
    file: Readable, field: str, work: str, limit: int, lines: Iterable[tuple[int, bytes]] | None = None
) -> Iterator[Fragment | TextRun]:
    """Stream the text in ``field`` of every row, and the work named by the field ``work``, if given.

    Rows of plain lines come in runs, cut into pieces of at most ``limit`` bytes. ``lines``: numbered lines of the file,
    by default all.
    """
    # A name that is not UTF-8 gets a backslash here, which no plain field has: ``json`` looks it up.
    names = [one.encode("utf-8", "backslashreplace") for one in ((field, work) if work else (field,))]
    texts = JsonTexts(names, min(limit, UNCUT), KEY_BYTES)
    some = None if lines is None else ((number, texts.of(line)[0]) for number, line in lines)
    for number, item in some or reading.parsed_lines(file, texts.of):
        if isinstance(item, TextRun):
            yield item
        elif item is not None and (row := _row(file, number, decode(item))) is not None:
            yield _document(file, number, row, field, work)  # not plain: json says what it is


def _document(file: Readable, number: int, row: dict[str, Any], field: str, work: str) -> Fragment:
    text = value(file, number, row, field)
    if not isinstance(text, str):
        hint = (
            f"for aligned rows use 'parallel:{file}', or name one with ?field={field}.NAME"
            if isinstance(text, dict)
            else "choose another with ?field="
        )
        raise InputError(f"{file} line {number}: field {field!r} is {kind_of(text)}, not a string; {hint}")
    return Fragment(text, work=work_of(file, number, row, work) if work else "")


def work_of(file: Readable, number: int, row: dict[str, Any], field: str) -> str:
    """Return the name of a work, without the number of the part; "" where it is null: the document is its own work."""
    name = value(file, number, row, field, "work")
    if not isinstance(name, str | int | None) or isinstance(name, bool):
        raise InputError(
            f"{file} line {number}: field {field!r} is {kind_of(name)}, which names no work; choose another with ?work="
        )
    return "" if name is None else _PART.sub("", str(name))


def kind_of(item: object) -> str:
    """Return the name of the JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(item), "a number")
