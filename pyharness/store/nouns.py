"""Nouns as JSON values, and back: what stands where is what the types of their fields say.

A noun is a frozen dataclass of numbers, text, nouns, tuples and mappings. A tuple of nouns of numbers can be written by
columns: a list for each field.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pyharness.store.shape import Misshapen, get, short

T = TypeVar("T")
_WORDS: Mapping[Any, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def as_json(kind: Any, value: Any, columnar: tuple[type, ...] = ()) -> Any:
    """Return a value of a type as JSON values; tuples of the types in ``columnar`` become columns."""
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
    """Inverse of ``as_json``: ``name`` is what messages call the value.

    Raises:
        Misshapen: it is nothing that ``as_json`` can have made. Fields that are not known are passed over.
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
            raise Misshapen(f"{name!r} is {short(data)}; it must be {_list_in_words(inner)}")
        return tuple(_from_json(of, one, name, columnar) for of, one in zip(_each(inner, len(data)), data, strict=True))
    return _one_of(kind, data, name) if origin is Literal or issubclass(kind, Enum) else _scalar(kind, data, name)


def _noun(kind: Any, data: Any, name: str, columnar: tuple[type, ...]) -> Any:
    if not isinstance(data, dict):
        raise Misshapen(f"{name!r} is {short(data)}; it must be an object")
    given = {}
    for field in fields(kind):
        if field.name in data or field.name in _required(kind):
            one = get(data, field.name, object)
            given[field.name] = _from_json(_fields(kind)[field.name], one, field.name, columnar)
    return kind(**given)


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
    known: dict[str, Any] = {str(one): one for one in (kind if get_origin(kind) is None else get_args(kind))}
    if not isinstance(data, str) or data not in known:
        raise Misshapen(f"{name!r} is {short(data)}; known: {', '.join(known)}")
    return known[data]


def _scalar(kind: Any, data: Any, name: str) -> Any:
    fits = isinstance(data, int | float) if kind is float else isinstance(data, kind)
    if not fits or (isinstance(data, bool) and kind is not bool):
        raise Misshapen(f"{name!r} is {short(data)}; it must be {_WORDS[kind]}")
    return kind(data)


def _list_in_words(inner: tuple[Any, ...]) -> str:
    return "a list" if Ellipsis in inner else f"a list of {len(inner)}"


def _each(inner: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return (inner[0],) * count if Ellipsis in inner else inner


def _not_none(kind: UnionType) -> Any:
    (one,) = (one for one in get_args(kind) if one is not NoneType)
    return one


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    return {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}


@functools.cache
def _required(kind: Any) -> frozenset[str]:
    return frozenset(
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    )
