"""JSON files that may be broken or hostile: parsed, with members checked on access."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError, Offsets, cut, offsets_of
from pyharness.vocabularies.files.byte_alphabet import of_letters

_NAMES = {
    dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "true or false", type(None): "null",
}  # fmt: skip


def parse_json(data: bytes, label: str) -> dict[str, Any]:
    """Parse a JSON object; refuse double keys, bad encodings and nesting bombs.

    Raises:
        InputError: the data is refused, or is not a JSON object.
    """
    try:
        content = json.loads(data, object_pairs_hook=unique)
    except RecursionError:
        raise InputError(f"{label} is nested too deeply to be a tokenizer") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{label} is not valid JSON, or is cut off: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not valid UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:  # a double key, or an integer of more than 4300 digits (a message for programmers)
        raise InputError(f"{label}: {str(error).partition('; use sys.')[0]}") from None
    if not isinstance(content, dict):
        raise InputError(f"{label} is JSON, but a {type(content).__name__} and not an object")
    return content


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its members, for ``json``; a double key is a ``ValueError``."""
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} occurs twice in one object")
            seen.add(key)
    return members


class Members:
    """Members of an object. A member of another type is an ``InputError`` that names the object and the member."""

    def __init__(self, content: Any, label: str) -> None:
        if not isinstance(content, dict):
            raise InputError(f"{label} is {str(content)[:60]!r}, not an object")
        self.content, self.label = content, label

    def take(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """Return a member of a type; None where the type allows it and the file has null or lacks the member."""
        value, kinds = self.content.get(name), kind if isinstance(kind, tuple) else (kind,)
        if type(value) not in kinds:
            wanted = " or ".join(_NAMES[kind] for kind in kinds)
            raise InputError(f"{self.label}: {name!r} is {str(value)[:60]!r}, not {wanted}")
        return value

    def choose(self, name: str, known: Sequence[str]) -> Any:
        """Return a member that is one of some words."""
        value = self.content.get(name)
        if value not in known:
            raise InputError(f"{self.label}: {name!r} is {str(value)[:60]!r}; known: {', '.join(known)}")
        return value

    def integer(self, name: str, least: int, most: int) -> int:
        """Return a member that is an integer from ``least`` to ``most``."""
        value = self.take(name, int)
        if not least <= value <= most:
            raise InputError(f"{self.label}: {name!r} is {str(value)[:40]}, which is not from {least:,} to {most:,}")
        return int(value)

    def integers(self, name: str, low: int, high: int) -> NDArray[np.int64]:
        """Return a member that is a list of integers from ``low`` to below ``high``: int64 [n]."""
        return integers(self.take(name, list), low, high, f"{self.label}: {name!r}")


def integers(values: Sequence[Any], low: int, high: int, label: str) -> NDArray[np.int64]:
    """Return a list of integers from ``low`` to below ``high``: int64 [n]."""
    if not set(map(type, values)) <= {int}:
        raise InputError(f"{label} has {next(repr(v)[:40] for v in values if type(v) is not int)}, not an integer")
    if values and not (low <= min(values) and max(values) < high):
        wrong = next(value for value in values if not low <= value < high)
        raise InputError(f"{label} has {str(wrong)[:40]}, which is not from {low} to below {high:,}")
    return np.array(values, np.int64)


def strings(values: Sequence[Any], label: str) -> tuple[NDArray[np.uint8], Offsets]:
    """Return the bytes, uint8 [all], and offsets, int64 [n + 1], of strings in the byte alphabet."""
    if not set(map(type, values)) <= {str}:
        raise InputError(f"{label} has {next(repr(v)[:40] for v in values if type(v) is not str)}, not a string")
    text = "".join(values)
    try:
        data = of_letters(text)
    except UnicodeEncodeError as error:
        raise InputError(f"{label}: {text[error.start]!r} is not a letter of the byte alphabet") from None
    offsets = offsets_of(list(map(len, values)))
    return np.frombuffer(data, np.uint8), offsets


def byte_strings(values: Sequence[Any], label: str) -> list[bytes]:
    """Return the bytes of each string in the byte alphabet."""
    data, offsets = strings(values, label)
    return cut(data.tobytes(), offsets)
