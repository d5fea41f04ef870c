"""Files that are written whole or not at all, by all that write one: interrupted, they leave what was there before."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bpe_models import trained_model
from pyharness import bpe, report, store
from pyharness.system import atomic_file
from pyharness.system.folders import write_folder
from pyharness.tokenizers.families import openai_files
from pyharness.types import InputError
from writing.half_written import OLD, STEPS, check_interrupted, check_on_full_disk

RECORD = store.Record({"metrics": {}}, ())
WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "text": ("any", lambda path: atomic_file.write(path, "né", overwrite=True)),
    "bytes": ("any", lambda path: atomic_file.write(path, b"new", overwrite=True)),
    "model": ("any", lambda path: bpe.save(trained_model("gpt2"), path)),
    "parquet": ("any", lambda path: report.to_parquet(report.flat_sheet(RECORD), path, overwrite=True)),
}
QUIET = {**WRITERS, "ranks": ("any", lambda path: openai_files._keep(b"new", path))}  # says nothing of a full disk


@pytest.mark.parametrize("writer", QUIET)
def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path, writer: str) -> None:
    name, write = QUIET[writer]
    path = tmp_path / name
    if writer == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra files")
    write(path)
    content = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o644
    path.write_text(OLD, encoding="utf-8")
    path.chmod(0o600)
    write(path)
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("writer", WRITERS)
def test_an_interruption_leaves_what_was_there(tmp_path: Path, writer: str, old: bool, step: str) -> None:
    name, write = WRITERS[writer]
    path = tmp_path / name
    if writer == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra files")
    check_interrupted(path, lambda: write(path), old, step)


@pytest.mark.parametrize("writer", QUIET)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, writer: str) -> None:
    name, write = QUIET[writer]
    path = tmp_path / name
    if writer == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra files")

    def refused() -> None:
        with pytest.raises(InputError, match=rf"{re.escape(str(path))}.*No space left"):
            write(path)

    check_on_full_disk(path, refused if writer in WRITERS else lambda: write(path))  # the other is only a cache


def test_a_killed_process_leaves_the_file_whole(tmp_path: Path) -> None:
    """Nobody can clean up after SIGKILL; the file itself is what it was."""
    path = tmp_path / "any"
    path.write_text(OLD, encoding="utf-8")
    script = (
        "import os, pathlib, signal, sys; from pyharness.system import atomic_file; "
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL); "
        "atomic_file.write(pathlib.Path(sys.argv[1]), 'new' * 100000, overwrite=True)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("links", [True, False], ids=["links", "no hard links"])
def test_what_is_there_is_replaced_only_if_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def unable(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", unable)
    path = tmp_path / "any"
    atomic_file.write(path, "mine")
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(InputError, match=r"any' .*--force"):
        atomic_file.write(path, "yours")
    with pytest.raises(InputError, match=r"any' .*--force"):
        atomic_file.check(path)
    assert path.read_text(encoding="utf-8") == "mine"
    atomic_file.check(path, overwrite=True)
    atomic_file.write(path, "yours", overwrite=True)
    assert path.read_text(encoding="utf-8") == "yours"
    assert [file.name for file in tmp_path.iterdir()] == ["any"]


def test_of_many_who_create_a_file_one_succeeds(tmp_path: Path) -> None:
    path, contents = tmp_path / "any", [str(number) * 10_000 for number in range(8)]

    def attempt(content: str) -> bool:
        try:
            atomic_file.write(path, content)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        succeeded = list(pool.map(attempt, contents))
    assert succeeded.count(True) == 1
    assert path.read_text(encoding="utf-8") == contents[succeeded.index(True)]
    assert [file.name for file in tmp_path.iterdir()] == ["any"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "folder").mkdir()
    target, first, second = tmp_path / "folder" / "any", tmp_path / "first", tmp_path / "second"
    first.symlink_to("folder/any")
    second.symlink_to("first")
    atomic_file.write(second, "new", overwrite=overwrite)
    assert (first.is_symlink(), second.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_text(encoding="utf-8") == "new"
    if not overwrite:
        with pytest.raises(InputError, match="exists already"):
            atomic_file.write(second, "newer")
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    with pytest.raises(InputError, match=r"circle': Too many levels of symbolic links"):
        atomic_file.write(circle, "new", overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["any", "circle", "first", "folder", "second"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_into(tmp_path: Path, overwrite: bool, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    name = pipe
    if linked:
        name = tmp_path / "link"
        name.symlink_to(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        atomic_file.check_writable(name, overwrite=overwrite)
        atomic_file.write(name, "é" * 100_000, overwrite=overwrite)
        assert read.result(timeout=10).decode() == "é" * 100_000
    assert pipe.is_fifo()
    assert {file.name for file in tmp_path.iterdir()} == {"pipe", name.name}


def test_a_device_is_written_into(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("making devices is not allowed here")
    atomic_file.write(device, "new")
    atomic_file.write(device, "new", overwrite=True)
    assert device.is_char_device()
    assert device.stat().st_rdev == os.makedev(1, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["null"]


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for overwrite in (False, True):
            with pytest.raises(InputError, match="socket"):
                atomic_file.check(Path("socket"), overwrite=overwrite)
            with pytest.raises(InputError, match="cannot write 'socket'"):
                atomic_file.write(Path("socket"), "new", overwrite=overwrite)
    assert Path("socket").is_socket()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("into", [">", ">>", "| cat >"])
def test_standard_output_by_its_name(tmp_path: Path, name: str, into: str) -> None:
    if not Path(name).parent.exists():
        pytest.skip(f"there is no {name} here")
    path = tmp_path / "any"
    path.write_text("before\n", encoding="utf-8")
    script = (
        "import pathlib, sys; from pyharness.system import atomic_file; path = pathlib.Path(sys.argv[1]); "
        "atomic_file.check(path); atomic_file.write(path, 'one\\n'); atomic_file.write(path, 'two\\n', overwrite=True)"
    )
    command = f"{shlex.join([sys.executable, '-P', '-c', script, name])} {into} {shlex.quote(str(path))}"
    subprocess.run(["/bin/bash", "-c", command], check=True)
    assert path.read_text(encoding="utf-8") == ("before\n" if into == ">>" else "") + "one\ntwo\n"
    assert [file.name for file in tmp_path.iterdir()] == ["any"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none" / "any"
    with pytest.raises(InputError, match=r"any': No such file"):
        atomic_file.write(path, "new")
    with pytest.raises(InputError, match=r"none': No such file"):
        atomic_file.check_writable(path)
    atomic_file.check_writable(tmp_path / "any")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("umask", "expected"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_who_may_read_a_new_file_is_what_the_umask_says(tmp_path: Path, umask: int, expected: int) -> None:
    before = os.umask(umask)
    try:
        atomic_file.write(tmp_path / "created", "new")
        atomic_file.write(tmp_path / "put", "new", overwrite=True)
        write_folder(tmp_path / "folder", {"file": b"new"})
    finally:
        os.umask(before)
    for name in ("created", "put", "folder/file"):
        assert (tmp_path / name).stat().st_mode & 0o777 == expected
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o777 & ~umask


def test_a_private_file_is_private_while_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    seen = []
    syncing = os.fsync

    def look(handle: int) -> None:
        seen.append(os.fstat(handle).st_mode & 0o777)
        syncing(handle)

    monkeypatch.setattr(os, "fsync", look)
    atomic_file.write(path, "new", overwrite=True)
    assert seen == [0o600]
    assert path.stat().st_mode & 0o777 == 0o600
