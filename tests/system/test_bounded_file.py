"""Files that are read whole, and what is given in the place of one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pyharness.system import bounded_file
from pyharness.types import InputError


def test_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert bounded_file.read(tmp_path / "a", 5, "it") == b"12345"
    for path in (tmp_path / "a", Path("/dev/zero")):
        with pytest.raises(InputError, match=r"it .*\b4 bytes"):
            bounded_file.read(path, 4, "it")
    assert bounded_file.read(Path("/dev/null"), 4, "it") == b""


def test_the_digest_of_a_file_and_of_an_open_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4
    assert bounded_file.digest(tmp_path / "a") == digest
    with (tmp_path / "a").open("rb") as file:
        assert bounded_file.digest(file) == digest
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        bounded_file.digest(tmp_path / "pipe")


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="named pipe"):
            bounded_file.read(tmp_path / name, 5, "it")
        with pytest.raises(InputError, match=r"it .*named pipe"):
            bounded_file.read_toml(tmp_path / name, 5, "it")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/")):
        with pytest.raises(IsADirectoryError):
            bounded_file.opened(path)


@pytest.mark.parametrize("shown", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
@pytest.mark.parametrize("given", ["printf abc |", "printf abc > file; <file"])
def test_what_a_process_has_open_is_read(tmp_path: Path, shown: str, given: str) -> None:
    """A pipe of the shell has a writer: ``<(...)`` and ``|`` work where a file is read."""
    if not Path(shown).parent.exists():
        pytest.skip(f"there is no {shown} here")
    script = (
        "import pathlib, sys; from pyharness.system import bounded_file; "
        "print(bounded_file.read(pathlib.Path(sys.argv[1]), 9, 'it'))"
    )
    command = f"{given} {shlex.join([sys.executable, '-P', '-c', script, shown])}"
    done = subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "b'abc'\n"


@pytest.mark.parametrize("name", ["a", "'a b'", '"a b"', "a-b"])
def test_keys_of_very_many_parts(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    for parts in (1, 2, bounded_file.MOST_PARTS):
        path.write_text(" . ".join([name] * parts) + " = 1\n", encoding="utf-8")
        assert bounded_file.read_toml(path, 1 << 20, "it")
    for form in ("{} = 1", "[{}]", "x = {{ {} = 1 }}"):
        path.write_text(form.format(".".join([name] * (bounded_file.MOST_PARTS + 1))), encoding="utf-8")
        with pytest.raises(InputError, match=r"it .*key.* 100 parts"):
            bounded_file.read_toml(path, 1 << 20, "it")


def test_lines_with_many_dots_are_read(tmp_path: Path) -> None:
    names = [f"path:./data.d/text.{number}.jsonl" for number in range(500)]
    (tmp_path / "x.toml").write_text(f"corpora = {names}\n# {'.' * 1000}\n", encoding="utf-8")
    assert bounded_file.read_toml(tmp_path / "x.toml", 1 << 20, "it")["corpora"] == names
    (tmp_path / "x.toml").write_text(f"x = '{'x' * 4_000_000}'", encoding="utf-8")
    assert bounded_file.read_toml(tmp_path / "x.toml", 1 << 23, "it")
