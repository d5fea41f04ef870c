"""JSON values of records: checks of their shapes, and conversion to data classes.

A data class here is frozen. Its fields are numbers, booleans, text, enums, data classes, tuples and mappings, or None,
and their types declare the shape. A tuple of data classes of numbers can be written by columns: one list per field.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pyharness.types import InputError, TextRead

LARGEST = 1e150  # squares of what is smaller are finite, and so are their sums
DEEPEST = 64  # levels of lists and objects within a record


class Misshapen(InputError):
    """A JSON value has another shape than a record requires there."""


_MISSING: Any = object()
_WORDS: Mapping[type | None, str] = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a whole number", None: "null",
}  # fmt: skip


def get(data: Any, name: str, *kinds: type | None, default: Any = _MISSING) -> Any:
    """Return the value of a key, or ``default`` if there is no such key.

    Raises:
        Misshapen: the value has none of the types (None: null; ``object``: anything), or the key is missing without a
            default.
    """
    if not isinstance(data, dict):
        raise Misshapen(f"{short(data)} is not an object with {name!r}")
    if name not in data:
        if default is _MISSING:
            raise Misshapen(f"{name!r} is missing")
        return default
    value = data[name]
    for kind in kinds:
        fits = value is None if kind is None else isinstance(value, kind)
        if fits and not (kind is int and isinstance(value, bool)):
            return value
    raise Misshapen(f"{name!r} is {short(value)}; it must be {' or '.join(_WORDS[kind] for kind in kinds)}")


def number(value: Any, name: str) -> Any:
    """Return a value that is a number; raise ``Misshapen`` for any other."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misshapen(f"{name!r} is {short(value)}; it must be a number")
    return value


def number_or_null(value: Any, name: str) -> Any:
    """Return a value that is a number or null; raise ``Misshapen`` otherwise."""
    return None if value is None else number(value, name)


def tally_of(data: Any) -> TextRead | None:
    """Return the account of the text that was read, from details, or None; ``Misshapen`` if it is malformed."""
    tally = get(data, "tally", dict, None, default=None)
    return None if tally is None else from_json(TextRead, tally, "tally")


def check_schema(data: Mapping[str, Any], newest: int, name: str, what: str) -> None:
    """Raise ``InputError`` for a schema number that is malformed or newer; messages use ``name`` and ``what``."""
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise InputError(f"{name} is not {what}: its schema is {short(schema)}, not a number from 1")
    if schema > newest:
        kind = what.split()[-1]
        raise InputError(
            f"{name} has {kind} schema {short(schema)}; this pyharness reads up to {newest}: upgrade pyharness"
        )


def check_values(data: Any) -> None:
    """Raise ``Misshapen`` for numbers that are not finite or beyond ``LARGEST``, and for nesting that is too deep."""
    levels: list[Iterator[Any]] = [iter((data,))]  # not a list of values: there may be millions
    while levels:
        value = next(levels[-1], _MISSING)
        if value is _MISSING:
            levels.pop()
        elif isinstance(value, dict | list):
            if len(levels) > DEEPEST + 1:
                raise Misshapen(f"it is nested more than {DEEPEST} levels deep")
            levels.append(iter(value.values() if isinstance(value, dict) else value))
        elif isinstance(value, float) and not math.isfinite(value):
            raise Misshapen(f"it holds {value}, which is not a finite number")
        elif isinstance(value, int | float) and abs(value) > LARGEST:
            raise Misshapen(f"it holds a number beyond {LARGEST:g}")


def short(value: object) -> str:
    """Return a value for a message: JSON of at most 60 characters."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


T = TypeVar("T")
_SCALARS: Mapping[Any, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def as_json(kind: Any, value: Any, columnar: tuple[type, ...] = ()) -> Any:
    """Return an instance as JSON values; tuples of types in ``columnar`` become columns."""
    if kind is Any:
        return value
    if isinstance(kind, UnionType):
        return None if value is None else as_json(_not_none(kind), value, columnar)
    if isinstance(kind, type) and is_dataclass(kind):
        return {name: as_json(one, getattr(value, name), columnar) for name, one in _fields(kind).items()}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Mapping:
        return {name: as_json(inner[1], one, columnar) for name, one in value.items()}
    if origin is tuple and inner[0] in columnar:
        return {name: [as_json(of, getattr(one, name)) for one in value] for name, of in _fields(inner[0]).items()}
    if origin is tuple:
        return [as_json(of, one, columnar) for of, one in zip(_each(inner, len(value)), value, strict=True)]
    if origin is Literal:
        return value
    return value.value if issubclass(kind, Enum) else kind(value)  # a number of a library becomes one of ours


def from_json(kind: type[T], data: Any, name: str, columnar: tuple[type, ...] = ()) -> T:
    """Inverse of ``as_json``; ``name`` is the name of the value in messages.

    Raises:
        Misshapen: the value has another shape than ``kind`` declares. Unknown fields are ignored, and fields with a
            default may be missing.
    """
    read: T = _from_json(kind, data, name, columnar)
    return read


def _from_json(kind: Any, data: Any, name: str, columnar: tuple[type, ...]) -> Any:
    if kind is Any:
        return data
    if isinstance(kind, UnionType):
        return None if data is None else _from_json(_not_none(kind), data, name, columnar)
    if is_dataclass(kind):
        return _noun(kind, data, name, columnar)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Mapping:
        return _mapping(inner, data, name, columnar)
    if origin is tuple and inner[0] in columnar:
        return _from_columns(inner[0], data, name)
    if origin is tuple:
        if not isinstance(data, list) or (Ellipsis not in inner and len(data) != len(inner)):
            due = "a list" if Ellipsis in inner else f"a list of {len(inner)}"
            raise Misshapen(f"{name!r} is {short(data)}; it must be {due}")
        return tuple(_from_json(of, one, name, columnar) for of, one in zip(_each(inner, len(data)), data, strict=True))
    return _one_of(kind, data, name) if origin is Literal or issubclass(kind, Enum) else _scalar(kind, data, name)


def _noun(kind: Any, data: Any, name: str, columnar: tuple[type, ...]) -> Any:
    if not isinstance(data, dict):
        raise Misshapen(f"{name!r} is {short(data)}; it must be an object")
    members = {}
    for field in fields(kind):
        if field.name in data or field.name in _required_keys(kind):
            one = get(data, field.name, object)
            members[field.name] = _from_json(_fields(kind)[field.name], one, field.name, columnar)
    return kind(**members)


def _mapping(inner: tuple[Any, ...], data: Any, name: str, columnar: tuple[type, ...]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Misshapen(f"{name!r} is {short(data)}; it must be an object")
    return {
        _from_json(inner[0], key, f"{name}: name", columnar): _from_json(inner[1], one, f"{name}: {key}", columnar)
        for key, one in data.items()
    }


def _from_columns(kind: Any, data: Any, name: str) -> tuple[Any, ...]:
    columns = [
        [_from_json(of, one, f"{name}: {field}", ()) for one in get(data, field, list)]
        for field, of in _fields(kind).items()
    ]
    if len({len(column) for column in columns}) != 1:
        raise Misshapen(f"the columns of {name!r} are not equally long")
    return tuple(kind(*row) for row in zip(*columns, strict=True))


def _one_of(kind: Any, data: Any, name: str) -> Any:
    members: dict[str, Any] = {str(one): one for one in (kind if get_origin(kind) is None else get_args(kind))}
    if not isinstance(data, str) or data not in members:
        raise Misshapen(f"{name!r} is {short(data)}; known: {', '.join(members)}")
    return members[data]


def _scalar(kind: Any, data: Any, name: str) -> Any:
    fits = isinstance(data, int | float) if kind is float else isinstance(data, kind)
    if not fits or (isinstance(data, bool) and kind is not bool):
        raise Misshapen(f"{name!r} is {short(data)}; it must be {_SCALARS[kind]}")
    return kind(data)


def _each(inner: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return (inner[0],) * count if Ellipsis in inner else inner


def _not_none(kind: UnionType) -> Any:
    (one,) = (one for one in get_args(kind) if one is not NoneType)
    return one


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    return {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}


@functools.cache
def _required_keys(kind: Any) -> frozenset[str]:
    return frozenset(
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    )
