"""Checks that the JSON values of a record have the shapes that its schema asks for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pyharness.types import Direction, InputError

LARGEST = 1e150  # squares of what is smaller are finite, and so are their sums
DEEPEST = 64  # levels of lists and objects within a record


class Misshapen(InputError):
    """A JSON value is not what a record has in its place."""


_MISSING: Any = object()
_WORDS: Mapping[type | None, str] = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a whole number", None: "null",
}  # fmt: skip


def get(data: Any, name: str, *kinds: type | None, default: Any = _MISSING) -> Any:
    """Return the value of a key, which must be of one of the kinds (None: null; ``object``: anything)."""
    if not isinstance(data, dict):
        raise Misshapen(f"{short(data)} stands where an object with {name!r} is due")
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
    """Return a value that must be a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misshapen(f"{name!r} is {short(value)}; it must be a number")
    return value


def number_or_null(value: Any, name: str) -> Any:
    """Return a value that must be a number or null."""
    return None if value is None else number(value, name)


def check_tally(data: Any) -> None:
    """Check the account of the text that was read, where there is one."""
    if (tally := get(data, "tally", dict, None, default=None)) is None:
        return
    for name in ("documents", "bytes"):
        get(tally, name, int)
    for name in ("empty_documents", "cut_documents", "replaced_sequences"):
        get(tally, name, int, default=0)
    get(tally, "digest", str)
    if not all(isinstance(one, str) for one in get(tally, "beginnings", list, default=[])):
        raise Misshapen("'beginnings' has a value that is no text")


def check_top(data: Mapping[str, Any]) -> None:
    """Check what stands beside the results: required keys, their types, and what reports read of them."""
    for name, kind in (("created", str), ("complete", bool), ("suite", dict), ("environment", dict), ("results", list)):
        get(data, name, kind)
    get(data["suite"], "rows", str, default="")
    get(data["suite"], "reference", str, None, default=None)
    number(get(data, "seconds", object), "seconds")
    for label in (rows := get(data, "tokenizers", dict)):
        get(get(rows, label, dict), "vocab_size", int, default=0)
    for label in (texts := get(data, "corpora", dict)):
        check_tally(get(texts, label, dict))
        get(texts[label], "smoke_test", bool, default=False)
    check_state(data)
    for name in (metrics := get(data, "metrics", dict)):
        about = get(metrics, name, dict)
        get(about, "unit", str)
        if (direction := get(about, "direction", str)) not in get_args(Direction):
            raise Misshapen(f"'direction' is {short(direction)}; known: {', '.join(get_args(Direction))}")
        get(about, "deterministic", bool)
        for flag in ("grows_with_text", "exact", "primary", "counts_tokens"):
            get(about, flag, bool, default=False)
        if (tolerance := number(get(about, "tolerance", object, default=0.0), "tolerance")) < 0:
            raise Misshapen(f"'tolerance' is {tolerance}; it must not be negative")


def check_state(data: Mapping[str, Any]) -> None:
    """Check what a record says of the file beside it: a name without a folder, a size, a digest."""
    if (about := get(data, "state", dict, None, default=None)) is None:
        return
    name = get(about, "file", str)
    if not name or Path(name).name != name or "\0" in name:
        raise Misshapen(f"'file' of 'state' is {short(name)}; it must be the name of a file beside the record")
    if get(about, "bytes", int) < 0:
        raise Misshapen(f"'bytes' of 'state' is {about['bytes']}")
    if not re.fullmatch("[0-9a-f]{64}", get(about, "sha256", str)):
        raise Misshapen(f"'sha256' of 'state' is {short(about['sha256'])}")


def check_values(data: Any) -> None:
    """Refuse numbers that are not finite or that nothing measured here can reach, and bottomless nesting."""
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
            raise Misshapen(f"it holds {value}, which is no number")
        elif isinstance(value, int | float) and abs(value) > LARGEST:
            raise Misshapen(f"it holds a number beyond {LARGEST:g}")


def short(value: object) -> str:
    """Return a value as messages show it: JSON of at most 60 characters."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
