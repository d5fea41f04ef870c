"""Wheels that were built lately, by all that decides what a build makes of a commit.

What a build fetches from an index (a newer pybind11, say) is not known beforehand, and would differ between a wheel of
last week and one of today as if the code did: so wheels are kept for a day.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

from pyharness.features.gate.builds.names import Revision
from pyharness.system import atomic_file, bounded_file, folders, program
from pyharness.types import InputError

KEPT_SECONDS = 24 * 3600
ANSWER_SECONDS = 10.0
DIGEST = ".sha256"  # in the place of .whl: the file beside a wheel that has its digest
COMPILERS = {
    "cc": "CC",
    "c++": "CXX",
    "nvcc": "CUDACXX",
    "rustc": "",
    "cmake": "",
}  # and what names another, if it passes


def folder() -> Path:
    """Return the folder of all that a gate keeps."""
    return folders.cache() / "gate"


def key(source: Revision, environment: Mapping[str, str], *, isolated: bool) -> str:
    """Digest of what decides which wheel is made.

    Commit, changes, project, interpreter, every variable that the build gets, the versions of the compilers that it
    would find (or that there is none), and what is installed, if that is used.
    """
    installed = [] if isolated else sorted(f"{one.name} {one.version}" for one in distributions())
    decides = {
        "commit": source.commit,
        "changes": source.changes or "",
        "project": source.checkout.project,
        "python": [sys.version, sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_platform()],
        "variables": {name: hashlib.sha256(os.fsencode(value)).hexdigest() for name, value in environment.items()},
        "compilers": {
            usual: _version(environment.get(name) or usual, environment) for usual, name in COMPILERS.items()
        },
        "installed": installed,
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]


def _version(compiler: str, environment: Mapping[str, str]) -> str | None:
    """Return what a compiler says of itself; None where it is absent, or does not say it at once."""
    words = compiler.split()  # "ccache g++"
    found = shutil.which(words[0], path=environment.get("PATH")) if words else None
    return None if found is None else _said((found, *words[1:], "--version"), tuple(environment.items()))


@functools.cache  # asked for both sides, before their builds and after
def _said(command: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> str | None:
    try:
        ran = program.run(command, dict(environment), seconds=ANSWER_SECONDS)
    except (InputError, program.OutOfTime):
        return None
    return ran.output.decode(errors="replace")  # all of it: nvcc has its version in the fourth line


def find(name: str) -> Path | None:
    """Return the wheel that is kept under a key, if it is not too old, and what was kept."""
    wheels = (folder() / "wheels" / name).glob("*.whl")
    return next((wheel for wheel in wheels if not _is_old(wheel) and _is_whole(wheel)), None)


def _is_whole(wheel: Path) -> bool:
    try:
        return bounded_file.read(wheel.with_suffix(DIGEST), 64, DIGEST).decode("ascii") == bounded_file.digest(wheel)
    except (OSError, ValueError):
        return False


def keep(name: str, wheel: Path) -> None:
    """Keep a wheel; where that cannot be done, nothing is kept."""
    place = folder() / "wheels" / name
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_file.keep(place / wheel.name, wheel)
        atomic_file.keep((place / wheel.name).with_suffix(DIGEST), bounded_file.digest(wheel))


def clear() -> None:
    """Remove wheels and logs that are too old."""
    with contextlib.suppress(OSError):
        for place in (folder() / "wheels").iterdir():
            if all(_is_old(wheel) for wheel in place.iterdir()):
                shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):
        for log in (folder() / "logs").iterdir():
            if _is_old(log):
                log.unlink()


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > KEPT_SECONDS
    except OSError:  # another process has removed it
        return True
