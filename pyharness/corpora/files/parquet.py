"""Text columns of Parquet files, in record batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyharness.corpora.files.reading import CorpusFile, Extent, decode, named_errors, state_of
from pyharness.plugins.libraries import load
from pyharness.types import InputError

HEADER_BYTES = 1 << 12  # of the first read; statistics of long values can make a header longer
LONGEST_HEADER = 1 << 24
DEEPEST = 8  # nesting of structs in a header; three are usual
_UNCOMPRESSED, _COMPRESSED, _VALUES = 2, 3, 1  # field numbers
_OF_DATA, _OF_DICTIONARY, _OF_DATA_V2 = 5, 7, 8
BATCH_ROWS = 256
BATCH_BYTES = 64 << 20
LARGEST_PAGE = 128 << 20  # bytes; most writers stop at 1 MB, DuckDB at 100 MB
LARGEST_FOOTER = 64 << 20


# Sizes of the pages of a Parquet column, read from their headers: pyarrow decompresses a page whole, whatever its size.
#
# Sources: apache/parquet-format ``src/main/thrift/parquet.thrift`` (PageHeader), and Thrift's compact protocol.
class Misread(Exception):
    """The bytes are no page header."""


class Short(Misread):
    """The header is longer than the available bytes."""


@dataclass(frozen=True, slots=True)
class PageSize:
    """A page: its decompressed size, its number of values, and whether it is a dictionary."""

    bytes: int
    values: int
    dictionary: bool


def pages(file: IO[bytes], start: int, size: int, label: str) -> Iterator[PageSize]:
    """Yield the pages of a column chunk of ``size`` bytes at ``start``, in order; only their headers are read."""
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


def _page(header: dict[int, Any]) -> PageSize:
    about = next((header[field] for field in (_OF_DATA, _OF_DATA_V2, _OF_DICTIONARY) if field in header), None)
    size = header.get(_UNCOMPRESSED)
    values = about.get(_VALUES) if isinstance(about, dict) else 0
    if not isinstance(size, int) or size < 0 or not isinstance(values, int) or values < 0:
        raise Misread
    return PageSize(size, values, _OF_DICTIONARY in header)


def _header(file: IO[bytes], position: int) -> tuple[dict[int, Any], int]:
    """Read a header; return it with its length."""
    data, size = b"", HEADER_BYTES
    file.seek(position)
    while True:
        data += file.read(size - len(data))
        try:
            return _struct(data, 0, 0)
        except Short:
            if size >= LONGEST_HEADER or len(data) < size:
                raise
            size *= 4


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
            number, position = _read_signed(data, position)
        fields[number], position = _value(data, position, head & 15, depth)
    return fields, position + 1


def _value(data: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true and false are their own types
        return kind == 1, position
    if kind == 3:
        return _byte(data, position), position + 1
    if kind in (4, 5, 6):
        return _read_signed(data, position)
    if kind == 7:
        return _skip(data, position, 8)
    if kind == 8:
        length, position = _read_unsigned(data, position)
        return _skip(data, position, length)
    if kind in (9, 10):
        return _list(data, position, depth)
    if kind == 12:
        return _struct(data, position, depth + 1)
    raise Misread  # a header has no maps


def _list(data: bytes, position: int, depth: int) -> tuple[None, int]:
    head = _byte(data, position)
    count, position = (head >> 4, position + 1) if head >> 4 < 15 else _read_unsigned(data, position + 1)
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


def _read_unsigned(data: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        byte = _byte(data, position)
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
    raise Misread


def _read_signed(data: bytes, position: int) -> tuple[int, int]:
    value, position = _read_unsigned(data, position)
    return (value >> 1) ^ -(value & 1), position


def strings(extent: Extent, field: str) -> Iterator[str]:
    """Stream a string column of the row groups that begin in a range of a file; a null is an empty document."""
    file = extent.file
    pyarrow = load("reading Parquet files", "pyarrow", "files")
    parquet = load("reading Parquet files", "pyarrow.parquet", "files")
    row_number = 0
    _check_footer(file)
    with named_errors(file, lambda: f"after row {row_number:,}", (pyarrow.ArrowException,)), ExitStack() as opened:
        source = str(file) if isinstance(file, Path) else opened.enter_context(file.open("rb"))
        # Without pre_buffer, which holds whole row groups, memory stays at a batch.
        options = {"pre_buffer": False, "buffer_size": 1 << 20, "page_checksum_verification": True}
        table = opened.enter_context(parquet.ParquetFile(source, **options))
        _check(pyarrow, file, table.schema_arrow, field)
        for group in _groups(table.metadata, extent):
            rows = _rows_at_once(file, table.metadata.row_group(group), field)
            for batch in table.iter_batches(batch_size=rows, row_groups=[group], columns=[field]):
                for data in _as_bytes(pyarrow, batch.column(0)):
                    yield decode(data) if data else ""
                row_number += batch.num_rows


def _groups(metadata: Any, extent: Extent) -> Iterator[int]:
    """Yield the numbers of the row groups with rows whose first page begins in a range of the file.

    A group before an earlier one counts as if it began there, and one behind the file as if it began at its last byte.
    So each group is in one range, ranges have them in their order, and who reads a damaged place meets it.
    """
    begins, last = 0, state_of(extent.file).size - 1
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        starts = [_start(group.column(column)) for column in range(group.num_columns)]
        begins = max(begins, min([*starts, last]))
        if group.num_rows and extent.start <= begins and (extent.stop is None or begins < extent.stop):
            yield number


def _start(column: Any) -> int:
    """Return the place of the first page of a column chunk."""
    start = int(column.data_page_offset)
    if column.has_dictionary_page and column.dictionary_page_offset is not None:
        start = min(start, column.dictionary_page_offset)
    return start


def _check_footer(file: CorpusFile) -> None:
    """Refuse a footer that is larger than memory should hold; the reader reports a missing one."""
    with named_errors(file, lambda: "at its end"), file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - 8))
        length, mark = int.from_bytes(content.read(4), "little"), content.read(4)
        if mark == b"PAR1" and LARGEST_FOOTER < length <= size:
            raise InputError(f"{file} describes itself in {length:,} bytes; at most {LARGEST_FOOTER:,} are read")


def _rows_at_once(file: CorpusFile, group: Any, field: str) -> int:
    """Return the rows per batch, which take at most ``BATCH_BYTES`` plus two pages; refuse a page that is too large."""
    columns = [group.column(number) for number in range(group.num_columns)]
    largest_row = 1.0
    for column in (column for column in columns if column.path_in_schema == field):
        start = _start(column)
        with named_errors(file, lambda: "at a page"), file.open("rb") as content:
            for page in pages(content, start, column.total_compressed_size, str(file)):
                if page.bytes > LARGEST_PAGE:
                    raise InputError(
                        f"{file} has a page of {page.bytes:,} bytes, which is read whole; at most {LARGEST_PAGE:,}: "
                        "write it again with a smaller data_page_size, or with shorter texts"
                    )
                # Any row may refer to the longest value of a dictionary.
                largest_row = max(largest_row, page.bytes / (1 if page.dictionary else max(page.values, 1)))
    return max(1, min(BATCH_ROWS, int(BATCH_BYTES / largest_row)))


def _check(pyarrow: Any, file: CorpusFile, schema: Any, field: str) -> None:
    at, types = schema.get_field_index(field), pyarrow.types
    if at < 0:
        columns = ", ".join(map(repr, schema.names))
        raise InputError(f"{file} has no column {field!r}; it has {columns}: choose one with ?field=")
    texts = [repr(column.name) for column in schema if _is_text(types, column.type)]
    if repr(field) not in texts:
        advice = f"columns of strings are {', '.join(texts)}: choose one with ?field=" if texts else "no column is one"
        raise InputError(f"column {field!r} of {file} is {schema.field(at).type}, not a string; {advice}")


def _is_text(types: Any, kind: Any) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _as_bytes(pyarrow: Any, column: Any) -> list[bytes | None]:
    # As bytes, because a string column need not contain valid UTF-8.
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values: list[bytes | None] = column.cast(pyarrow.large_binary()).to_pylist()
    return values
