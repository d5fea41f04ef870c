"""Files of a corpus that are damaged, of the wrong shape or empty: the error names the file and the place."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pyharness.corpora.files import reading
from pyharness.types import InputError
from texts import failure, has, refusal, write

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

# -------------------------------------------------------------------------------- damaged archives

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = os.urandom(150_000).hex().encode()


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.9999])
def test_truncated_archives(suffix: str, kept: float, tmp_path: Path) -> None:
    data = PACKERS[suffix](TEXT)
    file = write(tmp_path / f"a.txt{suffix}", data[: int(len(data) * kept)])
    has(failure(f"path:{file}"), str(file), "cut short")
    has(failure(f"path:{tmp_path}"), str(file), "cut short")


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("at", [0, 0.5])
def test_damaged_archives(suffix: str, at: float, tmp_path: Path) -> None:
    data = bytearray(PACKERS[suffix](TEXT))
    start = int(len(data) * at)
    data[start : start + 8] = b"\xa5" * 8
    file = write(tmp_path / f"a.txt{suffix}", bytes(data))
    has(failure(f"path:{file}"), str(file), "is damaged", "again")


def with_giant_window(data: bytes) -> bytes:
    """An xz file whose first block declares a dictionary of 4 GB (the .xz file format, 3.1 and 5.3.1)."""
    packed = bytearray(lzma.compress(data))
    assert packed[12:16] == b"\2\0\x21\1"  # 12 bytes of header, LZMA2, one byte of properties
    packed[16] = 40
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    return bytes(packed)


def test_an_archive_that_asks_for_much_memory(tmp_path: Path) -> None:
    """A few bytes that declare what is to be allocated, also behind others that do not."""
    asking = with_giant_window(b"some\n")
    for data in (asking, lzma.compress(b"some\n") * 3 + asking):
        file = write(tmp_path / "a.txt.xz", data)
        has(failure(f"path:{file}"), str(file), "256 MiB", "xz -9")


def test_streams_of_an_xz_file_are_read_one_after_the_other(tmp_path: Path) -> None:
    streams = [lzma.compress(TEXT), lzma.compress(b""), lzma.compress(b"more\n" * 9), lzma.compress(TEXT, preset=9)]
    file = write(tmp_path / "a.txt.xz", (bytes(200_000)).join(streams) + bytes(100_000))
    assert b"".join(reading.blocks(file, 1000)) == TEXT + b"more\n" * 9 + TEXT
    file = write(tmp_path / "a.txt.xz", b"".join(streams) + b"none" * 9)
    with pytest.raises(InputError, match="is damaged"):
        list(reading.blocks(file))


@pytest.mark.parametrize("suffix", [".xz", ".zst", ".bz2"])
def test_archives_without_a_byte(suffix: str, tmp_path: Path) -> None:
    file = write(tmp_path / f"a.txt{suffix}", b"")
    message = failure(f"path:{file}")
    assert "cut short" in message or "no documents" in message


# -------------------------------------------------------------------------------- JSON Lines


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('{"text": "x"', ["JSON", "correct"]),
        ('{"text": "x"} {"text": "y"}', ["JSON"]),
        ("[" * 100_000, ["JSON"]),
        ('["x"]', ["a list", "object"]),
        ("null", ["null", "object"]),
        ("{}", ["no field 'text'", "it has nothing"]),
        ('{"body": "x", "id": 1}', ["no field 'text'", "'body', 'id'", "?field="]),
        ('{"text": null}', ["'text' is null"]),
        ('{"text": 7}', ["'text' is a number"]),
        ('{"text": true}', ["'text' is a boolean"]),
        ('{"text": ["x"]}', ["'text' is a list", "?field="]),
        ('{"text": {"en": "x"}}', ["'text'", "object", "parallel:", "?field=text.NAME"]),
    ],
)
def test_bad_json_lines(line: str, parts: list[str], tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"text": "fine"}\n\n' + line + "\n")
    has(failure(f"path:{file}"), f"{file} line 3", *parts)


@pytest.mark.parametrize("ended", [True, False])
def test_a_json_line_that_is_too_long(ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1 << 20)
    long = json.dumps({"text": "x" * (3 << 20)}) + "\n" * ended
    file = write(tmp_path / "a.jsonl", '{"text": "fine"}\n' + long)
    has(failure(f"path:{file}"), f"{file} line 2", "longer than 1 MiB", "split it")


# -------------------------------------------------------------------------------- Parquet


def test_parquet_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"body": ["x"], "n": [1], "raw": [b"x"]}), file)
    has(failure(f"path:{file}"), str(file), "no column 'text'", "'body', 'n', 'raw'", "?field=")
    has(failure(f"path:{file}?field=n"), "'n'", "int64", "'body'")
    has(failure(f"path:{file}?field=raw"), "'raw'", "binary")


@pytest.mark.parametrize("harm", ["short", "page", "text", "empty"])
def test_damaged_parquet(harm: str, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [TEXT.decode()] * 3}), file, use_dictionary=False, write_page_checksum=True)
    data = file.read_bytes()
    harmed = {
        "short": data[: len(data) // 2],
        "page": data[:200] + b"\xa5" * 2000 + data[2200:],
        "text": b"not Parquet at all",
        "empty": b"",
    }
    write(file, harmed[harm])
    has(failure(f"path:{file}"), str(file), "is damaged (after row 0", "again")


# -------------------------------------------------------------------------------- missing extras


def test_missing_extras_are_found_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("zstandard", "pyarrow", "datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    zst, parquet = write(tmp_path / "a.txt.zst", ""), write(tmp_path / "a.parquet", "")
    has(refusal(f"path:{zst}"), "zstandard", "pyharness[files]")
    has(refusal(f"path:{parquet}"), "pyarrow", "pyharness[files]")
    has(refusal("datasets:org/name"), "datasets", "pyharness[hub]")
    write(tmp_path / "eng.txt", "a")
    write(tmp_path / "deu.txt.zst", "")
    has(refusal(f"parallel:{tmp_path}?languages=eng,deu"), "pyharness[files]")


@pytest.mark.parametrize(("name", "module"), [("a.txt.zst", "zstandard"), ("a.parquet", "pyarrow")])
def test_missing_extras_in_a_directory(name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    write(tmp_path / name, "")
    has(failure(f"path:{tmp_path}"), module, "pyharness[files]")


# -------------------------------------------------------------------------------- nothing to read


@pytest.mark.parametrize(
    ("name", "data", "options"),
    [
        ("a.txt", "", ""),
        ("a.txt", "", "?split=line"),
        ("a.txt", "\n\n\n", "?split=line"),
        ("a.txt", "\n \n\t\r\n", "?split=paragraph"),
        ("a.jsonl", "", ""),
        ("a.jsonl", '{"text": ""}\n\n', ""),
        ("a.txt.gz", gzip.compress(b"", mtime=0), ""),
        ("a.txt.zst", zstandard.ZstdCompressor().compress(b""), ""),
    ],
)
def test_empty_corpora(name: str, data: bytes | str, options: str, tmp_path: Path) -> None:
    spec = f"path:{write(tmp_path / name, data)}{options}"
    has(failure(spec), repr(spec), "no documents", "check")
    has(failure(f"repeat:2:{spec}"), repr(spec), "no documents")


def test_empty_documents_are_mentioned(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "\n\n\n")
    has(failure(f"path:{file}?split=line"), "a.txt", "3 empty")


def test_a_directory_of_binary_files_has_no_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", b"\0")
    has(failure(f"path:{tmp_path}"), "no documents")


def test_a_cap_below_the_first_document(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "x" * 100)
    has(failure(f"path:{file}?max_bytes=99"), "max_bytes=99", "100 bytes", "give more")
    has(failure("sample?max_bytes=1"), "max_bytes=1")
    has(failure("sample:parallel?max_bytes=10"), "max_bytes=10")
