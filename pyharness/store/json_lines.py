"""JSON of records: read within limits, written with one line per entry of a long list."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pyharness.system import bounded_file
from pyharness.types import InputError

MOST_BYTES = 64 << 20  # thousands of cases; and what is made of so many bytes and values stays below 1 GB
MOST_VALUES = 3_000_000
MOST_UNPACKING = 128 << 20  # bytes of memory for xz, which may ask for 4 GB; what xz -9 packs takes 65 MB
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
        raise InputError(f"record {str(path)!r} does not exist") from None
    except OSError as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, lzma.LZMAError) as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error}") from None


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
