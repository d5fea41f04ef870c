"""Axes of a suite file: an entry with ``{base}`` in it stands for one entry per value of the axis ``base``.

An entry that names several axes stands for their product. Fields of one entry that name the same axis vary together;
each entry varies by itself. ``{base}`` is the name of a value, ``{base.file}`` the field ``file`` of its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, TypeAlias

from pyharness.plugins.registry import suggest
from pyharness.plugins.specification import escaped
from pyharness.store import first_twice
from pyharness.suite.declaration import shown
from pyharness.types import InputError

MOST_ENTRIES = 10_000  # of an expanded list
MOST_CHARACTERS = 1 << 25  # of its entries
Value: TypeAlias = Mapping[str, str]  # its fields; "name" is always among them
Axes: TypeAlias = Mapping[str, tuple[Value, ...]]
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# Neither a variable of the environment, ${NAME}, nor a class of characters of a split pattern, \p{L}.
_PLACE = re.compile(r"(?<![$])(?<!\\[pP])\{([A-Za-z]\w*)(?:\.(\w+))?\}", re.ASCII)


def read(given: Any) -> Axes:
    """Read the table ``axes``: each a list of texts, whole numbers, or tables with a ``name``.

    Raises:
        InputError: it has another layout, or two values of an axis have one name.
    """
    if not isinstance(given, Mapping):
        raise InputError(f'axes = {shown(given)} is not a table, such as axes = {{ language = ["et", "hi"] }}')
    return {axis: _values(axis, values) for axis, values in given.items()}


def _values(axis: str, given: Any) -> tuple[Value, ...]:
    if not _NAME.fullmatch(axis):
        raise InputError(f"axis {axis!r} is not a name: write a letter, then letters, digits and _")
    if not isinstance(given, list) or not given:
        raise InputError(f"axis {axis!r} = {shown(given)} is not a list of one or more values")
    values = tuple(_value(axis, value) for value in given)
    if (name := first_twice(value["name"] for value in values)) is not None:
        raise InputError(f"axis {axis!r} has the value {name!r} twice")
    return values


def _value(axis: str, given: Any) -> Value:
    fields = given if isinstance(given, Mapping) else {"name": given}
    if "name" not in fields:
        raise InputError(f"axis {axis!r}: {shown(dict(fields))} lacks the key 'name'")
    for key, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InputError(f"axis {axis!r}: {key} = {shown(value)} is neither a whole number nor text (not empty)")
    return {key: str(value) for key, value in fields.items()}


def spread(items: Any, axes: Axes, key: str) -> Any:
    """Expand a list of a suite file; ``key`` is its name there. Without axes, or if it is no list, it stays unchanged.

    Raises:
        InputError: an axis or a key of its values is unknown, names would be equal, or entries would be too many.
    """
    if not axes or not isinstance(items, list):
        return items
    written: list[Any] = []
    room = MOST_CHARACTERS
    for item in items:
        named = _axes_of(item, axes, key)
        entries = prod(len(axes[axis]) for axis in named)
        if len(written) + entries > MOST_ENTRIES:
            along = " x ".join(f"{axis} ({len(axes[axis])})" for axis in named)
            raise InputError(f"{key} would have more than {MOST_ENTRIES:,} entries, along {along}: leave values out")
        whole = _with_name(item, named, key) if named and key != "benchmarks" else item
        for point in product(*(axes[axis] for axis in named)):
            written.append(_fill(whole, dict(zip(named, point, strict=True)), key))
            room -= sum(map(len, _texts(written[-1])))
            if room < 0:
                raise InputError(f"{key} would have more than {MOST_CHARACTERS:,} characters: leave values out")
    return written


def _axes_of(item: Any, axes: Axes, key: str) -> tuple[str, ...]:
    """Return the axes that an entry names, in the order of their declaration."""
    places = {match[1]: match[0] for text in _texts(item) for match in _PLACE.finditer(text)}
    for axis, place in places.items():
        if axis not in axes:
            raise InputError(f"{place} in {key}: {suggest('axis', axis, axes)}")
    return tuple(axis for axis in axes if axis in places)


def _texts(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping | list):
        for part in item.values() if isinstance(item, Mapping) else item:
            yield from _texts(part)


def _with_name(item: Any, named: tuple[str, ...], key: str) -> Any:
    """Name a tokenizer or corpus without a name after its values; refuse one whose names would be equal."""
    if isinstance(item, str):
        item = {"spec": item}
    if not isinstance(item, Mapping):
        return item
    if "name" not in item:
        return {"name": " ".join(f"{{{axis}}}" for axis in named), **item}
    told_apart = {match[1] for match in _PLACE.finditer(str(item["name"]))}
    for axis in named:
        if axis not in told_apart:
            raise InputError(
                f"name = {shown(item['name'])} in {key} is one name along {axis!r}: write {{{axis}}} in it"
            )
    return item


def _fill(item: Any, point: Mapping[str, Value], key: str, field: str = "") -> Any:
    if isinstance(item, str):
        return _fill_text(item, point, is_tokenizer=key == "tokenizers" and field != "name")
    if isinstance(item, Mapping):
        return {name: _fill(part, point, key, name) for name, part in item.items()}
    return [_fill(part, point, key) for part in item] if isinstance(item, list) else item


def _fill_text(text: str, point: Mapping[str, Value], *, is_tokenizer: bool) -> str:
    def value(match: re.Match[str]) -> str:
        fields, field = point[match[1]], match[2] or "name"
        if field not in fields:
            names = ", ".join(fields)
            raise InputError(f"{match[0]}: {fields['name']!r} of axis {match[1]!r} has no {field!r}; it has {names}")
        within_options = is_tokenizer and "?" in text[: match.start()]
        return escaped(fields[field]) if within_options else fields[field]

    return _PLACE.sub(value, text)
