"""The head of our own model files: JSON objects with format, version, and a digest of the rest.

- ``format``, ``version``: a reader refuses versions it does not know.
- ``digest``: ``sha256:`` and the SHA-256 of all other members as JSON: keys sorted, no white space, UTF-8.
- ``written_by``: the pyharness that wrote the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pyharness.system.environment import version_of
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json


def write(form: str, version: int, members: Mapping[str, Any], label: str) -> bytes:
    """Return the content of a file of the format ``form``, one member per line; errors call it ``label``.

    Raises:
        InputError: a member is no JSON value.
    """
    content = {"format": form, "version": version, "written_by": version_of("pyharness"), **members}
    try:
        head = {"format": form, "version": version, "digest": digest(content)}
        lines = [f"{json.dumps(name)}: {_json(value)}" for name, value in {**head, **content}.items()]
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    except (TypeError, ValueError, RecursionError) as error:  # NaN, half a surrogate pair, no JSON value
        raise InputError(f"{label} cannot be written as JSON: {error}") from None


def read(form: str, version: int, data: bytes, label: str, others: str) -> dict[str, Any]:
    """Return all members of a file but ``format`` and ``digest``, after checks.

    Errors call the file ``label``, and name ``others`` as the function that reads files of other formats.

    Raises:
        InputError: it is truncated, altered, of another format, or of a version above ``version``.
    """
    content = parse_json(data, label)
    if content.pop("format", None) != form:
        raise InputError(f"{label} is not a {form} file; {others} reads other kinds")
    stated, written_by = content.get("version"), content.get("written_by")
    if type(stated) is not int or stated < 1:
        raise InputError(f"{label}: version {str(stated)[:40]!r} is not a version of {form}")
    if stated > version:
        raise InputError(
            f"{label} is version {str(stated)[:20]} of {form}; pyharness {version_of('pyharness')} reads versions "
            f"up to {version}: install the pyharness that wrote it ({str(written_by)[:40]!r}) or a newer one"
        )
    claimed = content.pop("digest", None)
    try:
        actual = digest({"format": form, **content})
    except (ValueError, RecursionError) as error:  # NaN, half a surrogate pair, too deeply nested to be written again
        raise InputError(f"{label} has what no {form} file has: {error}") from None
    if claimed != actual:
        raise InputError(
            f"{label} is damaged or was edited: its digest is {actual}, it says {str(claimed)[:80]!r}; make it again, "
            "or take it from where it came from"
        )
    return content


def digest(content: Mapping[str, Any]) -> str:
    """Return the digest of a file's content, which must not contain one."""
    return "sha256:" + hashlib.sha256(_json(content, sort_keys=True).encode()).hexdigest()


def _json(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
