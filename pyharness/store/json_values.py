"""JSON of records: read within limits, written with one line per entry of a long list, checked and converted.

A data class here is frozen. Its fields are numbers, booleans, text, enums, data classes, tuples and mappings, or None,
and their types declare the shape. A tuple of data classes of numbers can be written by columns: one list per field.
"""

from __future__ import annotations

import functools
import json
import lzma
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from pyharness.system import bounded_file
from pyharness.types import InputError, TextRead

MOST_BYTES = 64 << 20  # thousands of cases; and what is made of so many bytes and values stays below 1 GB
MOST_VALUES = 3_000_000
MOST_UNPACKING = 128 << 20  # bytes of memory for xz, which may ask for 4 GB; what xz -9 packs takes 65 MB
LARGEST = 1e150  # squares of what is smaller are finite, and so are their sums
DEEPEST = 64  # levels of lists and objects within a record
_XZ = b"\xfd7zXZ\x00"  # what such a file begins with
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def load(path: Path) -> Any:
    """Return the JSON value of a file, which may be packed with xz as in a page.

    Raises ``InputError`` if the file cannot be read, is too large, or is not JSON.
    """
    try:
        content = bounded_file.read(path, MOST_BYTES, f"record {str(path)!r}")
        return parsed(_unpack(content) if content.startswith(_XZ) else content)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"record {str(path)!r} does not exist: check the spelling") from None
    except OSError as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, lzma.LZMAError) as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error}; is it a record, and whole?") from None


def parsed(content: bytes, errors: str = "strict") -> Any:
    """Parse untrusted JSON. Raise ``ValueError`` if it is not JSON in UTF-8, too deep, or has too many values."""
    text = content.decode("utf-8", errors)
    if (values := values_in(text)) > MOST_VALUES:
        raise ValueError(f"it may have up to {values:,} values; at most {MOST_VALUES:,} are read")
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def values_in(text: str) -> int:
    """Return an upper bound on the number of values within a JSON value, which does not count itself."""
    return sum(map(text.count, ",[{"))


def packed(content: bytes) -> bytes:
    """Pack a record with xz, to about a fifth of its size; what is packed already stays as it is."""
    return content if content.startswith(_XZ) else lzma.compress(content)


def _unpack(content: bytes) -> bytes:
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_UNPACKING)
    unpacked = reader.decompress(content, MOST_BYTES + 1)
    if len(unpacked) > MOST_BYTES:
        raise ValueError(f"it holds more than {MOST_BYTES:,} bytes, the most that is read")
    if not reader.eof:
        raise ValueError("it is cut off")
    return unpacked


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is not a finite number")


class Encoded(str):
    """JSON text of a value, which ``encoded`` and ``dump`` write unchanged."""


def encoded(value: Any, indent: int | None = None) -> Encoded:
    """Return the JSON text of a value, in one line without ``indent``; text that is already encoded stays.

    Raises:
        ValueError: a number is not finite.
        TypeError: a value is none of JSON.
    """
    if isinstance(value, Encoded):
        return value
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    # A file name that is not UTF-8 is read with surrogates, which UTF-8 cannot write: JSON has an escape for them.
    return Encoded(_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def dump(data: Mapping[str, Any], many: str = "results") -> str:
    """Return JSON text, one line for each value of the list ``many`` so that records diff well.

    Raises ``InputError`` for values that JSON has no place for.
    """
    head = {name: value for name, value in data.items() if name != many}
    try:
        lines = ",\n".join("  " + encoded(item) for item in data[many])
        text = encoded(head, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a record cannot hold this: {error}") from None
    return text.removesuffix("\n}") + f',\n "{many}": [\n' + lines + "\n ]\n}\n"


# ---------------------------------------------------------------------------------------------- shapes of values


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
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind) or origin is Mapping:
        if not isinstance(data, dict):
            raise Misshapen(f"{name!r} is {short(data)}; it must be an object")
        return _mapping(inner, data, name, columnar) if origin is Mapping else _noun(kind, data, columnar)
    if origin is tuple and inner[0] in columnar:
        return _from_columns(inner[0], data, name)
    if origin is tuple:
        if not isinstance(data, list) or (Ellipsis not in inner and len(data) != len(inner)):
            due = "a list" if Ellipsis in inner else f"a list of {len(inner)}"
            raise Misshapen(f"{name!r} is {short(data)}; it must be {due}")
        return tuple(_from_json(of, one, name, columnar) for of, one in zip(_each(inner, len(data)), data, strict=True))
    return _one_of(kind, data, name) if origin is Literal or issubclass(kind, Enum) else _scalar(kind, data, name)


def _noun(kind: Any, data: dict[str, Any], columnar: tuple[type, ...]) -> Any:
    members = {}
    for field in fields(kind):
        if field.name in data or field.name in _required_keys(kind):
            one = get(data, field.name, object)
            members[field.name] = _from_json(_fields(kind)[field.name], one, field.name, columnar)
    return kind(**members)


def _mapping(inner: tuple[Any, ...], data: dict[str, Any], name: str, columnar: tuple[type, ...]) -> dict[str, Any]:
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
