"""Parses JSON that may be broken or hostile."""

from __future__ import annotations

import json
from typing import Any

from pyharness.types import InputError


def parse_json(data: bytes, label: str) -> dict[str, Any]:
    """Parse a JSON object, refusing double keys, bad encodings and nesting bombs."""
    try:
        content = json.loads(data, object_pairs_hook=_unique)
    except RecursionError:
        raise InputError(f"{label} is nested too deeply to be a tokenizer") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{label} is not valid JSON, or is cut off: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not valid UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:  # a double key, or an integer of more than 4300 digits, with advice for programmers
        raise InputError(f"{label}: {str(error).partition('; use sys.')[0]}") from None
    if not isinstance(content, dict):
        raise InputError(f"{label} is JSON, but a {type(content).__name__} and not an object")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} occurs twice in one object")
            seen.add(key)
    return members
