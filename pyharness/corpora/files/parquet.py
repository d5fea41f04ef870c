"""Text columns of Parquet files, in record batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyharness.corpora.files.parquet_pages import pages
from pyharness.corpora.files.reading import decode, named_errors
from pyharness.plugins.libraries import load
from pyharness.types import InputError

BATCH_ROWS = 256
BATCH_BYTES = 64 << 20
LARGEST_PAGE = 128 << 20  # bytes; most writers stop at 1 MB, DuckDB at 100 MB
LARGEST_FOOTER = 64 << 20


def strings(file: Path, field: str) -> Iterator[str]:
    """Stream a string column; a null is an empty document."""
    pyarrow = load("reading Parquet files", "pyarrow", "files")
    parquet = load("reading Parquet files", "pyarrow.parquet", "files")
    done = 0
    _check_footer(file)
    with (
        named_errors(file, lambda: f"after row {done:,}", (pyarrow.ArrowException,)),
        # Without pre_buffer, which holds whole row groups, memory stays at a batch.
        parquet.ParquetFile(str(file), pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as table,
    ):
        _check(pyarrow, file, table.schema_arrow, field)
        groups = [number for number in range(table.num_row_groups) if table.metadata.row_group(number).num_rows]
        for group in groups:
            rows = _rows_at_once(file, table.metadata.row_group(group), field)
            for batch in table.iter_batches(batch_size=rows, row_groups=[group], columns=[field]):
                for data in _as_bytes(pyarrow, batch.column(0)):
                    yield decode(data) if data else ""
                done += batch.num_rows


def _check_footer(file: Path) -> None:
    """Refuse a description that is larger than a machine should hold; that there is none, the reader says."""
    with named_errors(file, lambda: "at its end"), file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - 8))
        length, mark = int.from_bytes(content.read(4), "little"), content.read(4)
        if mark == b"PAR1" and LARGEST_FOOTER < length <= size:
            raise InputError(f"{file} describes itself in {length:,} bytes; at most {LARGEST_FOOTER:,} are read")


def _rows_at_once(file: Path, group: Any, field: str) -> int:
    """Rows to read at once, so that they stay within ``BATCH_BYTES`` and two pages. Too large a page is an error."""
    columns = [group.column(number) for number in range(group.num_columns)]
    largest_row = 1.0
    for column in (column for column in columns if column.path_in_schema == field):
        start = column.data_page_offset
        if column.has_dictionary_page and column.dictionary_page_offset is not None:
            start = min(start, column.dictionary_page_offset)
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


def _check(pyarrow: Any, file: Path, schema: Any, field: str) -> None:
    at = schema.get_field_index(field)
    if at < 0:
        known = ", ".join(map(repr, schema.names))
        raise InputError(f"{file} has no column {field!r}; it has {known}: choose one with ?field=")
    kind = schema.field(at).type
    inner = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    tests = ("is_string", "is_large_string", "is_string_view")
    if not any(getattr(pyarrow.types, test)(inner) for test in tests):
        texts = ", ".join(repr(f.name) for f in schema if "string" in str(f.type)) or "none"
        raise InputError(
            f"column {field!r} of {file} is {kind}, not a string; string columns are {texts}: choose one with ?field="
        )


def _as_bytes(pyarrow: Any, column: Any) -> list[bytes | None]:
    # As bytes, because nothing makes sure that a string column holds valid UTF-8.
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values: list[bytes | None] = column.cast(pyarrow.large_binary()).to_pylist()
    return values
