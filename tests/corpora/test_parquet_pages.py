"""Parquet files whose pages, rows or descriptions are larger than they look."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from layout.thoroughness import examples
from pyharness import corpora
from pyharness.corpora.files import parquet
from pyharness.corpora.files.parquet import Misread, _header, _struct, pages
from pyharness.types import InputError, Tally

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(path: Path, texts: Sequence[str | None], **options: Any) -> Path:
    pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path, **options)
    return path


def read(path: Path) -> list[str]:
    return list(corpora.open_corpus(f"path:{path}").documents(Tally()))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_pages_are_those_of_the_file(tmp_path: Path, version: str, compression: str, dictionary: bool) -> None:
    draw = random.Random(3)
    texts = ["".join(draw.choices("abcdefgh é", k=draw.randrange(300))) or "x" for _ in range(5000)]
    path = written(
        tmp_path / "x.parquet", texts, compression=compression, use_dictionary=dictionary, data_page_size=20_000,
        data_page_version=version, row_group_size=3000, write_page_checksum=True,
    )  # fmt: skip
    with path.open("rb") as file, pq.ParquetFile(str(path)) as table:
        for group in range(table.num_row_groups):
            column = table.metadata.row_group(group).column(0)
            start = column.data_page_offset
            if dictionary:
                start = min(start, column.dictionary_page_offset)
            found = list(pages(file, start, column.total_compressed_size, "x"))
            assert sum(page.values for page in found if not page.dictionary) == column.num_values
            assert any(page.dictionary for page in found) == dictionary
            headers = column.total_uncompressed_size - sum(page.bytes for page in found)
            assert 0 < headers <= 1000 * len(found), "what is not in pages is their headers"
            assert len(found) > 1
    assert read(path) == texts


def test_a_page_that_becomes_too_large_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", ["x" * 3_000_000], compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 50_000
    assert sum(map(len, read(path))) == 3_000_000
    monkeypatch.setattr(parquet, "LARGEST_PAGE", 2_000_000)
    with pytest.raises(InputError, match=r"x\.parquet .*3,000,0.. bytes"):
        read(path)


def test_rows_that_share_a_long_value_come_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", ["x" * 100_000] * 500, use_dictionary=True)
    monkeypatch.setattr(parquet, "BATCH_BYTES", 1_000_000)
    sizes: list[int] = []
    as_bytes = parquet._as_bytes

    def noted(library: Any, column: Any) -> list[bytes | None]:
        sizes.append(len(column))
        return as_bytes(library, column)

    monkeypatch.setattr(parquet, "_as_bytes", noted)
    assert sum(map(len, read(path))) == 50_000_000
    assert max(sizes) <= 10


def test_ordinary_rows_come_many_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", [f"text {number}" for number in range(5000)])
    with pq.ParquetFile(str(path)) as table:
        assert parquet._rows_at_once(path, table.metadata.row_group(0), "text") == parquet.BATCH_ROWS


def test_nulls_and_an_empty_file(tmp_path: Path) -> None:
    assert read(written(tmp_path / "x.parquet", [None, "a", None, "b"])) == ["a", "b"]
    with pytest.raises(InputError, match="no documents"):
        read(written(tmp_path / "y.parquet", []))


def test_a_description_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", ["a"])
    monkeypatch.setattr(parquet, "LARGEST_FOOTER", 10)
    with pytest.raises(InputError, match=r"x\.parquet .* \d+ bytes.* 10\b"):
        read(path)


@pytest.mark.parametrize("seed", range(examples(200)))
def test_any_bytes_are_a_header_or_misread(seed: int) -> None:
    draw = random.Random(seed)
    data = bytes(draw.choices([0x15, 0x1C, 0x2C, 0, 0x19, 0x18, *range(256)], k=draw.randrange(60)))
    with contextlib.suppress(Misread):
        _struct(data, 0, 0)
    with contextlib.suppress(Misread):
        _header(io.BytesIO(data), 0)


def test_damage_in_a_header_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", ["abc"] * 10, use_dictionary=False, compression="none")
    data = bytearray(path.read_bytes())
    data[4] = 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"x\.parquet .*byte 4\b"):
        read(path)
