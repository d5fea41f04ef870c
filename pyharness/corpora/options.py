"""Options that several families of corpora share, and the parsers of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypedDict

from pyharness.plugins.registry import suggest
from pyharness.types import InputError

MAX_DOCUMENT_BYTES = 1 << 20
SMALLEST_LIMIT = 4  # one code point of any size fits

COMMON_OPTIONS: Mapping[str, str] = {
    "max_bytes": "stop before the document that would exceed this much text: 500kB, 2MB, 1GiB",
    "language": "BCP 47 or FLORES code of the text", "domain": "what the text is about, for the report",
    "licence": "SPDX expression of the text's licence", "name": "what reports call this corpus",
}  # fmt: skip
TEXT_OPTIONS: Mapping[str, str] = {
    **COMMON_OPTIONS,
    "max_document_bytes": "cut longer documents into several (default 1MiB)",
}

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", re.ASCII)
_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip


class Description(TypedDict):
    """Values of the common options; keyword arguments of the corpus classes."""

    language: str
    domain: str
    licence: str
    label: str
    max_bytes: int | None


def described(
    spec: str, options: Mapping[str, str], *, language: str = "und", domain: str = "unknown", licence: str = "unknown",
) -> Description:  # fmt: skip
    """Read the common options; the keywords are their defaults."""
    for option in ("language", "domain", "licence", "name"):
        if options.get(option) == "":
            raise InputError(f"option {option}= of corpus {spec!r} has no value; write {option}=VALUE or leave it out")
    return Description(
        language=options.get("language", language), domain=options.get("domain", domain),
        licence=options.get("licence", licence), label=options.get("name", spec),
        max_bytes=size("max_bytes", options["max_bytes"]) if "max_bytes" in options else None,
    )  # fmt: skip


def document_limit(options: Mapping[str, str]) -> int:
    """Read the size beyond which documents are cut."""
    limit = size("max_document_bytes", options.get("max_document_bytes", str(MAX_DOCUMENT_BYTES)))
    if limit < SMALLEST_LIMIT:
        raise InputError(f"max_document_bytes={limit} is too small; at least {SMALLEST_LIMIT}: the longest code point")
    return limit


def size(option: str, value: str) -> int:
    """Read a number of bytes; raise ``InputError`` for other text, or less than 1 byte.

    >>> size("max_bytes", "2MB"), size("max_bytes", "1.5KiB")
    (2000000, 1536)
    """
    match = _SIZE.fullmatch(value)
    if match is None or match[2].lower() not in _UNITS or len(match[1]) > 18:
        raise InputError(
            f"{option}={value} is not a size; write bytes, or a number with kB, MB, GB, KiB, MiB or GiB: 2MB"
        )
    bytes_ = (
        int(float(match[1]) * _UNITS[match[2].lower()]) if "." in match[1] else int(match[1]) * _UNITS[match[2].lower()]
    )
    if bytes_ < 1:
        raise InputError(f"{option}={value} leaves no text; give at least 1 byte or leave the option out")
    return bytes_


def choice(option: str, value: str, known: Iterable[str]) -> str:
    """Return an option's value if it is a known one; raise ``InputError`` otherwise."""
    names = tuple(known)
    if value not in names:
        raise suggest(f"value of {option}=", value, names)
    return value
