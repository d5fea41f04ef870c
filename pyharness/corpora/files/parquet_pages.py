"""Sizes of the pages of a Parquet column, read from their headers: a page is decompressed whole, whatever it becomes.

Sources: apache/parquet-format ``src/main/thrift/parquet.thrift`` (PageHeader), and Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from pyharness.types import InputError

HEADER_BYTES = 1 << 12  # read at first; statistics of long values can make a header longer
LONGEST_HEADER = 1 << 24
DEEPEST = 8  # structs within a header; there are three
_UNCOMPRESSED, _COMPRESSED, _VALUES = 2, 3, 1  # field numbers
_OF_DATA, _OF_DICTIONARY, _OF_DATA_V2 = 5, 7, 8


class Misread(Exception):
    """Bytes are no page header."""


class Short(Misread):
    """The header is longer than the bytes at hand."""


@dataclass(frozen=True, slots=True)
class Page:
    """The size of a page once it is read."""

    bytes: int
    values: int
    dictionary: bool


def pages(file: IO[bytes], start: int, size: int, label: str) -> Iterator[Page]:
    """Pages of a column chunk of ``size`` bytes at ``start``, in order; only their headers are read."""
    position = start
    while position < start + size:
        try:
            header, length = _header(file, position)
            compressed = header.get(_COMPRESSED)
            page = _page(header)
            if not isinstance(compressed, int) or compressed < 0:
                raise Misread
        except Misread:
            raise InputError(f"{label} is damaged (no page at byte {position:,}); copy or download it again") from None
        yield page
        position += length + compressed


def _page(header: dict[int, Any]) -> Page:
    about = next((header[field] for field in (_OF_DATA, _OF_DATA_V2, _OF_DICTIONARY) if field in header), None)
    size = header.get(_UNCOMPRESSED)
    values = about.get(_VALUES) if isinstance(about, dict) else 0
    if not isinstance(size, int) or size < 0 or not isinstance(values, int) or values < 0:
        raise Misread
    return Page(size, values, _OF_DICTIONARY in header)


def _header(file: IO[bytes], position: int) -> tuple[dict[int, Any], int]:
    """Read a header and its length."""
    size = HEADER_BYTES
    while True:
        file.seek(position)
        data = file.read(size)
        try:
            return _struct(data, 0, 0)
        except Short:
            if size >= LONGEST_HEADER or len(data) < size:
                raise
            size *= 16


def _struct(data: bytes, position: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > DEEPEST:
        raise Misread
    fields: dict[int, Any] = {}
    number = 0
    while (head := _byte(data, position)) != 0:
        position += 1
        if head >> 4:
            number += head >> 4
        else:
            number, position = _signed(data, position)
        fields[number], position = _value(data, position, head & 15, depth)
    return fields, position + 1


def _value(data: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true and false are their own types
        return kind == 1, position
    if kind == 3:
        return _byte(data, position), position + 1
    if kind in (4, 5, 6):
        return _signed(data, position)
    if kind == 7:
        return _skip(data, position, 8)
    if kind == 8:
        length, position = _unsigned(data, position)
        return _skip(data, position, length)
    if kind in (9, 10):
        return _list(data, position, depth)
    if kind == 12:
        return _struct(data, position, depth + 1)
    raise Misread  # a header has no maps


def _list(data: bytes, position: int, depth: int) -> tuple[None, int]:
    head = _byte(data, position)
    count, position = (head >> 4, position + 1) if head >> 4 < 15 else _unsigned(data, position + 1)
    if count > len(data):
        raise Short
    for _ in range(count):
        if head & 15 in (1, 2):
            position += 1
        else:
            _, position = _value(data, position, head & 15, depth + 1)
    return None, position


def _skip(data: bytes, position: int, length: int) -> tuple[None, int]:
    if position + length > len(data):
        raise Short
    return None, position + length


def _byte(data: bytes, position: int) -> int:
    if position >= len(data):
        raise Short
    return data[position]


def _unsigned(data: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        byte = _byte(data, position)
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
    raise Misread


def _signed(data: bytes, position: int) -> tuple[int, int]:
    value, position = _unsigned(data, position)
    return (value >> 1) ^ -(value & 1), position
