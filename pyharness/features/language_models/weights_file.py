"""Reads and lays out safetensors files: a length, a header in JSON, and the tensors' bytes one after the other.

Source: the README of safetensors, "Format".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json

# Bytes for some 300,000 tensors: no published model has as many. The safetensors library allows three times as much.
LARGEST_HEADER = 32 << 20
METADATA = "__metadata__"
WIDTHS = {"F32": 4, "BF16": 2, "F16": 2}  # bytes of a number
_LENGTH = 8  # bytes of the length at the start of a file


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file: its bytes are those from ``start`` to ``end`` of the file."""

    name: str
    dtype: str  # as in the header: F32, BF16, ...
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.end - self.start

    @property
    def numbers(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """The header of a safetensors file, checked: its tensors fill the file, without gaps and overlaps."""

    path: Path
    tensors: Mapping[str, StoredTensor]  # in the order of their offsets
    metadata: Any  # a mapping from strings to strings, or None

    @classmethod
    def read(cls, path: Path) -> WeightsFile:
        """Read a header. The last headers are cached, until their file changes.

        Raises:
            InputError: the file cannot be read, is not safetensors, or is cut off, or its header is too large.
        """
        try:
            status = path.stat()
            return _read(path, status.st_size, status.st_mtime_ns, status.st_ino)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def to_float64(data: NDArray[np.uint8], dtype: str) -> NDArray[np.float64]:
    """Convert the bytes of rows, uint8 [rows, bytes], to float64 [rows, columns]; exact."""
    if dtype == "BF16":
        return (data.view("<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    return data.view("<f4" if dtype == "F32" else "<f2").astype(np.float64)


@lru_cache(maxsize=256)  # shards of one model; an adaptation asks four times for each
def _read(path: Path, size: int, *version: int) -> WeightsFile:
    """Read a header; ``version`` holds values that change with the file."""
    del version
    header, data = _header(path, size)
    metadata = header.pop(METADATA, None)
    tensors = sorted((_tensor(path, name, header[name], data) for name in header), key=lambda one: (one.start, one.end))
    ends = [data, *(tensor.end for tensor in tensors)]
    if ends[:-1] != [tensor.start for tensor in tensors] or ends[-1] != size:
        raise InputError(f"{path} is not a whole safetensors file: its tensors do not fill its {size:,} bytes")
    return WeightsFile(path, MappingProxyType({tensor.name: tensor for tensor in tensors}), metadata)


def header_of(tensors: Iterable[tuple[str, str, tuple[int, ...], int]], metadata: Any) -> bytes:
    """Return the beginning of a file with these tensors, in this order: name, dtype, shape and bytes of each."""
    content: dict[str, Any] = {} if metadata is None else {METADATA: metadata}
    at = 0
    for name, dtype, shape, size in tensors:
        content[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensors are aligned, as in the library
    return len(text).to_bytes(_LENGTH, "little") + text


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """Return the header, and the offset at which the tensors begin."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if LARGEST_HEADER < length <= size - _LENGTH:
            raise InputError(
                f"{path} has a header of {length:,} bytes; at most {LARGEST_HEADER:,} are read, which is room for "
                "300,000 tensors: save the model in several files"
            )
        if not 0 < length <= size - _LENGTH:
            raise InputError(f"{path} is not a safetensors file, or is cut off")
        text = file.read(length)
    try:
        header = parse_json(text, "it")
        if rb"\u" in text:  # only this spelling can give half of a pair of surrogates, which is not text
            json.dumps(header, ensure_ascii=False).encode()
    except (InputError, UnicodeEncodeError):
        raise InputError(f"{path} is not a safetensors file: its header is broken") from None
    return header, _LENGTH + length


def _tensor(path: Path, name: str, about: Any, data: int) -> StoredTensor:
    try:
        dtype, shape, (start, end) = about["dtype"], about["shape"], about["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _refusal(path, name) from None
    whole = all(type(number) is int and number >= 0 for number in (start, end, *_list(shape, path, name)))
    if not isinstance(dtype, str) or not whole or end < start:
        raise _refusal(path, name)
    return StoredTensor(name, dtype, tuple(shape), data + start, data + end)


def _list(shape: Any, path: Path, name: str) -> list[Any]:
    if not isinstance(shape, list):
        raise _refusal(path, name)
    return shape


def _refusal(path: Path, name: str) -> InputError:
    return InputError(f"{path} is not a safetensors file: its header is broken, where it describes {name[:80]!r}")
