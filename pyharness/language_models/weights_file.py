"""Reads and lays out safetensors files: a length, a header in JSON, and the tensors' bytes one after the other.

Source: the README of safetensors, "Format".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json

LARGEST_HEADER = 100 << 20  # what the safetensors library accepts, too
METADATA = "__metadata__"
_LENGTH = 8  # bytes of the number that a file starts with


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file: its bytes are those from ``start`` to ``end`` of the file."""

    name: str
    dtype: str  # as the header has it: F32, BF16, ...
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start

    @property
    def numbers(self) -> int:
        """Elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """The header of a safetensors file, checked: its tensors fill the file, without gaps and overlaps."""

    path: Path
    tensors: Mapping[str, StoredTensor]  # in the order of their places
    metadata: Any  # strings by strings, or None

    @classmethod
    def read(cls, path: Path) -> WeightsFile:
        """Read a header.

        Raises:
            InputError: the file cannot be read, is none of safetensors, or is cut off.
        """
        try:
            size = path.stat().st_size
            header, data = _header(path, size)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from None
        metadata = header.pop(METADATA, None)
        tensors = sorted(
            (_tensor(path, name, header[name], data) for name in header), key=lambda one: (one.start, one.end)
        )
        ends = [data, *(tensor.end for tensor in tensors)]
        if ends[:-1] != [tensor.start for tensor in tensors] or ends[-1] != size:
            raise InputError(f"{path} is no whole safetensors file: its tensors do not fill its {size:,} bytes")
        return cls(path, {tensor.name: tensor for tensor in tensors}, metadata)


def header_of(tensors: Iterable[tuple[str, str, tuple[int, ...], int]], metadata: Any) -> bytes:
    """Return the beginning of a file with these tensors, in this order: name, dtype, shape and bytes of each."""
    content: dict[str, Any] = {} if metadata is None else {METADATA: metadata}
    at = 0
    for name, dtype, shape, size in tensors:
        content[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensors are aligned, as the library has them
    return len(text).to_bytes(_LENGTH, "little") + text


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """Header, and where the tensors begin."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if not 0 < length <= min(LARGEST_HEADER, size - _LENGTH):
            raise InputError(f"{path} is no safetensors file, or is cut off")
        text = file.read(length)
    try:
        header = parse_json(text, "it")
        json.dumps(header, ensure_ascii=False).encode()
    except (InputError, UnicodeEncodeError):  # half of a surrogate pair is no text
        raise InputError(f"{path} is no safetensors file: its header is broken") from None
    return header, _LENGTH + length


def _tensor(path: Path, name: str, about: Any, data: int) -> StoredTensor:
    try:
        dtype, shape, (start, end) = about["dtype"], about["shape"], about["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _broken(path, name) from None
    whole = all(type(number) is int and number >= 0 for number in (start, end, *_list(shape, path, name)))
    if not isinstance(dtype, str) or not whole or end < start:
        raise _broken(path, name)
    return StoredTensor(name, dtype, tuple(shape), data + start, data + end)


def _list(shape: Any, path: Path, name: str) -> list[Any]:
    if not isinstance(shape, list):
        raise _broken(path, name)
    return shape


def _broken(path: Path, name: str) -> InputError:
    return InputError(f"{path} is no safetensors file: its header is broken, where it describes {name[:80]!r}")
