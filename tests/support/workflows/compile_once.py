"""Compile what was compiled before no second time: a launcher for CMake, as ccache is, for builds of one revision after
the other. What counts is the preprocessed source and the flags; objects are kept in the home of the played machine.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PLACES = ("-o", "-MF", "-MT", "-isystem", "-I", "-c")  # and where they point: not what is compiled


def main(command: Sequence[str]) -> int:
    """Run a compiler, or copy what it made of the same source; returns its status."""
    if "-c" not in command:  # links, and CMake's own questions
        return subprocess.run(command, check=False).returncode
    target, found = Path(command[command.index("-o") + 1]), kept(command)
    if found.exists():
        shutil.copyfile(found, target)
        if "-MF" in command:
            Path(command[command.index("-MF") + 1]).write_text(f"{target}:\n", encoding="utf-8")
        return 0
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        found.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, found.with_name(f"{target.name}.new"))
        found.with_name(f"{target.name}.new").replace(found)
    return status


def kept(command: Sequence[str]) -> Path:
    """Where the object of this source and these flags is kept."""
    preprocessor = [one for one in without(command, ("-o", "-MF", "-MT")) if one not in ("-MD", "-MMD")]
    source = subprocess.run([*preprocessor, "-E", "-P"], check=True, capture_output=True).stdout
    flags = [one for one in without(command, PLACES) if not one.startswith("-I")]
    digest = hashlib.sha256(repr(flags).encode() + source).hexdigest()
    return Path.home() / ".cache" / "compiled" / f"{digest}.o"


def without(command: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Give the words of a command without some options and what follows each of them."""
    waiting = iter(command)
    for word in waiting:
        if word in options:
            next(waiting)
        else:
            yield word


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
