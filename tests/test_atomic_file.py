"""Files that are written whole or not at all, by all that write one: interrupted, they leave what was there before."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpe_models import trained_model
from pyharness import atomic_file, bpe, report, store
from pyharness.tokenizers import openai_files, trained_cache
from pyharness.types import InputError

RECORD = store.Record({"metrics": {}}, ())
OLD = "what was there before"


def refuse(path: Path) -> None:
    """Keep a refusal; its file has a name of its own."""
    trained_cache.Place(path.parent, {"trainer": "x"}).refuse("d" * 32, "no")


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "text": ("any", lambda path: atomic_file.write(path, "né", overwrite=True)),
    "bytes": ("any", lambda path: atomic_file.write(path, b"new", overwrite=True)),
    "model": ("any", lambda path: bpe.save(trained_model("gpt2"), path)),
    "parquet": ("any", lambda path: report.to_parquet(RECORD, path, overwrite=True)),
    "cache": (trained_cache.ENTRY, refuse),
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


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
@pytest.mark.parametrize("writer", WRITERS)
def test_an_interruption_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, old: bool, step: str
) -> None:
    name, write = WRITERS[writer]
    path = tmp_path / name
    if writer == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra files")
    if old:
        path.write_text(OLD, encoding="utf-8")
    seen: list[str] = []

    def interrupted(*_: object) -> None:
        seen.extend(file.name for file in tmp_path.iterdir() if file != path)
        raise KeyboardInterrupt

    owner: object = os if step == "fsync" else Path
    monkeypatch.setattr(owner, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(path)
    assert len(seen) == 1, "it was written aside, in the same folder"
    assert seen[0] != name
    assert [file.name for file in tmp_path.iterdir()] == ([name] if old else [])
    assert not old or path.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("writer", QUIET)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str) -> None:
    name, write = QUIET[writer]
    path = tmp_path / name
    if writer == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra files")
    path.write_text(OLD, encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    if writer == "cache":
        with pytest.raises(InputError, match=r"cannot keep trained tokenizers in .* No space left"):
            write(path)
    elif writer in WRITERS:
        with pytest.raises(InputError, match=r"cannot write .*: No space left"):
            write(path)
    else:
        write(path)  # only a cache
    assert path.read_text(encoding="utf-8") == OLD
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_killed_process_leaves_the_file_whole(tmp_path: Path) -> None:
    """Nobody can clean up after SIGKILL; the file itself is what it was."""
    path = tmp_path / "any"
    path.write_text(OLD, encoding="utf-8")
    script = (
        "import os, pathlib, signal, sys; from pyharness import atomic_file; "
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL); "
        "atomic_file.write(pathlib.Path(sys.argv[1]), 'new' * 100000, overwrite=True)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == OLD


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none" / "any"
    with pytest.raises(InputError, match=r"cannot write .*any': No such file"):
        atomic_file.write(path, "new")
    with pytest.raises(InputError, match=r"cannot write to .*none': No such file"):
        atomic_file.check_folder(path)
    atomic_file.check_folder(tmp_path / "any")
    assert not list(tmp_path.iterdir())
