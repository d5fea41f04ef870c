"""Wheels of strangers: each is read within bounds, or refused in one line before anything is built."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cases.command_line import refused
from gating import small_project
from pyharness.features.gate.builds import names
from pyharness.types import InputError

INFO = "tinytok-1.0.dist-info"
METADATA = "Metadata-Version: 2.1\nName: tinytok\nVersion: 1.0\n"
MIB = 1 << 20


def written(path: Path, members: list[tuple[str, str | bytes]], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)


def torn(path: Path) -> None:
    """A wheel whose METADATA does not unpack."""
    written(path, [(f"{INFO}/METADATA", METADATA * 50)])
    data = bytearray(path.read_bytes())
    start = data.index(b"METADATA") + 8
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)


def cut(path: Path) -> None:
    data = small_project.wheel(path.parent, version="0.1").read_bytes()
    path.write_bytes(data[: len(data) // 2])


def encrypted(path: Path) -> None:
    written(path, [(f"{INFO}/METADATA", METADATA)], zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\1\2")
    for flags in (6, entry + 8):
        data[flags : flags + 2] = struct.pack("<H", 1)
    path.write_bytes(data)


def crowded(path: Path) -> None:
    """A wheel with more members than are kept in memory."""
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    count = 17 * MIB // len(entry)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, count * len(entry), 0, 0)
    path.write_bytes(entry * count + end)


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "bzip2": (lambda path: written(path, [(f"{INFO}/METADATA", METADATA)], zipfile.ZIP_BZIP2), "method 12"),
    "LZMA": (lambda path: written(path, [(f"{INFO}/METADATA", METADATA)], zipfile.ZIP_LZMA), "method 14"),
    "a bomb": (lambda path: written(path, [(f"{INFO}/METADATA", METADATA + "x" * 16 * MIB)]), "more than 4,194,304 b"),
    "METADATA that does not unpack": (torn, "decompressing"),
    "an end that is cut": (cut, "not a zip file"),
    "nothing": (lambda path: path.write_bytes(b""), "not a zip file"),
    "another file": (lambda path: path.write_bytes(b"#!/bin/sh\n" * 100), "not a zip file"),
    "a password": (encrypted, "password"),
    "members without an end": (crowded, "runcated"),
    "no member": (lambda path: written(path, []), "0 files .*dist-info/METADATA"),
    "no dist-info": (lambda path: written(path, [("tinytok.py", "")]), "0 files .*dist-info/METADATA"),
    "two dist-infos": (
        lambda path: written(path, [(f"{name}-1.0.dist-info/METADATA", METADATA) for name in "ab"]), "it has 2 files",
    ),
    "METADATA without a name": (lambda path: written(path, [(f"{INFO}/METADATA", "Version: 1.0\n")]), "no name"),
    "METADATA without a version": (lambda path: written(path, [(f"{INFO}/METADATA", "Name: a\n")]), "no name"),
    "a name of two lines": (
        lambda path: written(path, [(f"{INFO}/METADATA", METADATA.replace("tinytok", "tiny\n tok\x1b[2J"))]), "no name",
    ),
    "a version without an end": (
        lambda path: written(path, [(f"{INFO}/METADATA", METADATA.replace("1.0", "1" * MIB))]), "no name",
    ),
    "METADATA that is binary": (lambda path: written(path, [(f"{INFO}/METADATA", bytes(range(256)))]), "no name"),
    "a folder": (Path.mkdir, "directory"),
    "a FIFO": (os.mkfifo, "named pipe"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), "not exist"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "symbolic links"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MADE)
def test_what_is_no_wheel_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    make, said = MADE[kind]
    make(tmp_path / "x.whl")
    with pytest.raises(InputError, match=said) as refusal:
        names.wheel("head", "x.whl", tmp_path / "x.whl")
    assert re.match("--head:? 'x.whl' ", str(refusal.value))
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 600


def test_the_largest_that_is_read(tmp_path: Path) -> None:
    filled = METADATA + "\n" + "x" * (names.METADATA_BYTES - len(METADATA) - 1)
    written(tmp_path / "x.whl", [(f"{INFO}/METADATA", filled)])
    assert names.wheel("base", "x.whl", tmp_path / "x.whl").distribution == "tinytok"


@pytest.mark.parametrize("kind", ["bzip2", "METADATA that does not unpack"])
def test_a_gate_refuses_it_and_writes_nothing(kind: str, tmp_path: Path) -> None:
    MADE[kind][0](tmp_path / "x.whl")
    whole = small_project.wheel(tmp_path)
    said = refused("gate", "--base", whole.name, "--head", "x.whl", "--force", "-o", "gate.json", cwd=tmp_path)
    assert re.search(r"--head 'x\.whl' .* wheel: ", said)
    assert not (tmp_path / "gate.json").exists()


@pytest.mark.parametrize("asked", ["~no-such-user/x.whl", "~no-such-user", "\ud800.whl", "x\n.whl"])
def test_names_that_no_system_has(asked: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--base:? "):
        names.find(asked, "raw_bytes", tmp_path)
