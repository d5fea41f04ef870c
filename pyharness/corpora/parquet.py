"""Text columns of Parquet files, in record batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyharness.corpora.reading import decode, named_errors
from pyharness.corpora.specification import load
from pyharness.types import InputError

BATCH_ROWS = 256


def strings(file: Path, field: str) -> Iterator[str]:
    """Stream a string column; a null is an empty document."""
    pyarrow = load("pyarrow", "files", "reading Parquet files")
    parquet = load("pyarrow.parquet", "files", "reading Parquet files")
    done = 0
    with (
        named_errors(file, lambda: f"after row {done:,}", (pyarrow.ArrowException,)),
        # Without pre_buffer, which holds whole row groups, memory stays at a batch.
        parquet.ParquetFile(str(file), pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as table,
    ):
        _check(pyarrow, file, table.schema_arrow, field)
        for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=[field]):
            for data in _as_bytes(pyarrow, batch.column(0)):
                yield decode(data) if data else ""
            done += batch.num_rows


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
