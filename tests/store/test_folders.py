"""Folders that are written whole or not at all: what is streamed, and room on the disk."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyharness.store.folders import write_folder
from pyharness.types import InputError, Streamed


def chunks() -> Iterator[bytes]:
    for number in range(16):
        yield bytes([number]) * (1 << 20)


def test_a_stream_is_written_a_chunk_at_a_time(tmp_path: Path) -> None:
    tracemalloc.start()
    write_folder(tmp_path / "f", {"small": b"1", "large": Streamed(16 << 20, chunks)})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 << 20
    assert (tmp_path / "f" / "large").read_bytes() == b"".join(chunks())
    assert (tmp_path / "f" / "small").read_bytes() == b"1"


def test_a_stream_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"12"
        raise InputError("the source has become shorter")

    with pytest.raises(InputError, match="has become shorter"):
        write_folder(tmp_path / "f", {"a": b"1", "b": Streamed(4, broken)})
    with pytest.raises(InputError, match="b was to have 3 bytes, and has 2"):
        write_folder(tmp_path / "f", {"b": Streamed(3, lambda: iter((b"12",)))})
    assert not list(tmp_path.iterdir())


def test_too_little_room_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=16 << 20))
    begun: list[None] = []

    def large() -> Iterator[bytes]:
        begun.append(None)
        yield from chunks()

    with pytest.raises(InputError, match=r"0\.02 GB are to be written to .*, and 0\.02 GB are free there; make room"):
        write_folder(tmp_path / "f", {"a": b"1", "b": Streamed(16 << 20, large)})
    assert not begun
    assert not list(tmp_path.iterdir())
    write_folder(tmp_path / "f", {"b": Streamed(16 << 20, large)})
    assert begun
