"""Compile what was compiled before no second time: a launcher for CMake, as ccache is, for builds one after the other.

``compile_once.py FOLDER COMPILER ...``. What counts is the preprocessed source and the flags; FOLDER keeps objects.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

PLACES = ("-o", "-MF", "-MT", "-isystem", "-I", "-c")  # and where they point: not what is compiled


def main(folder: Path, command: Sequence[str]) -> int:
    """Run a compiler, or copy what it made of the same source; returns its status."""
    if "-c" not in command:  # links, and CMake's own questions
        return subprocess.run(command, check=False).returncode
    target, found = Path(command[command.index("-o") + 1]), folder / f"{digest(command)}.o"
    if found.exists():
        shutil.copyfile(found, target)
        if "-MF" in command:
            Path(command[command.index("-MF") + 1]).write_text(f"{target}:\n", encoding="utf-8")
        return 0
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{found.name}.{os.getpid()}"
        shutil.copyfile(target, new)
        new.replace(found)
    return status


def digest(command: Sequence[str]) -> str:
    """Digest of a source as it is compiled, and of the flags."""
    preprocessor = [one for one in without(command, ("-o", "-MF", "-MT")) if one not in ("-MD", "-MMD")]
    source = subprocess.run([*preprocessor, "-E", "-P"], check=True, capture_output=True).stdout
    for before, word in pairwise(command):  # headers name their own files in messages
        if before == "-isystem" or word.startswith("-I"):
            source = source.replace(word.removeprefix("-I").encode(), b"")
    flags = [one for one in without(command, PLACES) if not one.startswith("-I")]
    return hashlib.sha256(repr(flags).encode() + source).hexdigest()


def without(command: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Give the words of a command without some options and what follows each of them."""
    waiting = iter(command)
    for word in waiting:
        if word in options:
            next(waiting)
        else:
            yield word


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
