"""Folders that are written whole or not at all: what is streamed, and room on the disk."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyharness.system import folders
from pyharness.system.folders import exchange, write_folder
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

    with pytest.raises(InputError, match="shorter"):
        write_folder(tmp_path / "f", {"a": b"1", "b": Streamed(4, broken)})
    with pytest.raises(InputError, match=r"\bb .*3 bytes.* 2\b"):
        write_folder(tmp_path / "f", {"b": Streamed(3, lambda: iter((b"12",)))})
    assert not list(tmp_path.iterdir())


def test_too_little_room_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=16 << 20))
    begun: list[None] = []

    def large() -> Iterator[bytes]:
        begun.append(None)
        yield from chunks()

    with pytest.raises(InputError, match=rf"16\.8 MB.*{re.escape(str(tmp_path))}.*16\.8 MB"):
        write_folder(tmp_path / "f", {"a": b"1", "b": Streamed(16 << 20, large)})
    assert not begun
    assert not list(tmp_path.iterdir())
    write_folder(tmp_path / "f", {"b": Streamed(16 << 20, large)})
    assert begun


def test_two_names_change_places(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").touch()
    (tmp_path / "file").write_bytes(b"1")
    assert exchange(tmp_path / "folder", tmp_path / "file")
    assert (tmp_path / "folder").read_bytes() == b"1"
    assert (tmp_path / "file" / "a").exists()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "folder", tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


LOOK = """
import os, sys
missing = looks = 0
print("looking", flush=True)
while not os.path.exists(sys.argv[2]):
    looks += 1
    missing += not os.path.exists(sys.argv[1])
print(looks, missing)
"""


def test_a_folder_that_is_replaced_is_there_at_every_moment(tmp_path: Path) -> None:
    """Another process looks all the time."""
    write_folder(tmp_path / "f", {"a": b"0"})
    command = [sys.executable, "-I", "-S", "-c", LOOK, str(tmp_path / "f" / "a"), str(tmp_path / "ended")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as looking:
        assert looking.stdout is not None
        assert looking.stdout.readline() == "looking\n"
        for number in range(300):
            write_folder(tmp_path / "f", {"a": b"%d" % number}, overwrite=True)
        (tmp_path / "ended").touch()
        looks, missing = map(int, looking.stdout.readline().split())
    assert looks > 1000
    assert missing == 0
    assert (tmp_path / "f" / "a").read_bytes() == b"299"
    assert {path.name for path in tmp_path.iterdir()} == {"f", "ended"}


def test_where_names_cannot_be_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "exchange", lambda first, second: False)
    write_folder(tmp_path / "f", {"a": b"0", "old": b""})
    write_folder(tmp_path / "f", {"a": b"1"}, overwrite=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["f", "a"]
    assert (tmp_path / "f" / "a").read_bytes() == b"1"


def test_what_killed_processes_left_is_removed_and_what_others_make_is_not(tmp_path: Path) -> None:
    names = ("f.abandon_.part", "f.inuse123.part", "f.g.abandon_.part", "f.something.part", "g.abandon_.part")
    left, used, *others = (tmp_path / f".{name}" for name in names)
    for folder in (left, used, *others):
        folder.mkdir()
        (folder / "a").write_bytes(b"1")
    (tmp_path / ".f.just_one.part").touch()  # a file
    (tmp_path / ".f.elsewher.part").symlink_to(others[0])
    handle = os.open(used, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    write_folder(tmp_path / "f", {"a": b"2"})
    assert not left.exists()
    assert all((folder / "a").exists() for folder in (used, *others))
    assert (tmp_path / ".f.just_one.part").exists()
    os.close(handle)
    write_folder(tmp_path / "f", {"a": b"3"}, overwrite=True)
    assert not used.exists()


def test_a_folder_that_is_being_written_is_no_abandoned_one(tmp_path: Path) -> None:
    def meanwhile() -> Iterator[bytes]:
        write_folder(tmp_path / "f", {"b": b"2"})
        shutil.rmtree(tmp_path / "f")
        yield b"1"

    write_folder(tmp_path / "f", {"a": Streamed(1, meanwhile)})
    assert (tmp_path / "f" / "a").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
