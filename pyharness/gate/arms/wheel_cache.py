"""Wheels that were built lately, by all that decides what a build makes of a commit.

What a build fetches from an index (a newer pybind11, say) is not known beforehand, and would differ between a wheel of
last week and one of today as if the code did: so wheels are kept for a day.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import sysconfig
import time
from importlib.metadata import distributions
from pathlib import Path

from pyharness.gate.arms import variables
from pyharness.gate.arms.sources import Revision
from pyharness.system import atomic_file, cache_folder, program

KEPT_SECONDS = 24 * 3600


def folder() -> Path:
    """Return the folder of all that a gate keeps."""
    return cache_folder.ours() / "gate"


def key(source: Revision, *, isolated: bool) -> str:
    """Digest of commit, changes, project, interpreter, compilers and flags, and of what is installed if it is used."""
    environment = variables.for_building(os.environ)
    installed = [] if isolated else sorted(f"{one.name} {one.version}" for one in distributions())
    decides = {
        "commit": source.commit,
        "changes": source.changes or "",
        "project": source.checkout.project,
        "python": [sys.version, sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_platform()],
        "flags": variables.of_compilers(environment),
        "compilers": [_version(environment.get(name) or usual) for name, usual in (("CC", "cc"), ("CXX", "c++"))],
        "installed": installed,
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]


def _version(compiler: str) -> str:
    words = compiler.split()  # "ccache g++"
    found = shutil.which(words[0]) if words else None
    if found is None:
        return ""
    return program.run([found, *words[1:], "--version"], variables.for_building(os.environ)).output.decode(
        errors="replace"
    )


def find(name: str) -> Path | None:
    """Return the wheel that is kept under a key, if it is not too old."""
    wheels = (folder() / "wheels" / name).glob("*.whl")
    return next((wheel for wheel in wheels if not _is_old(wheel)), None)


def keep(name: str, wheel: Path) -> None:
    """Keep a wheel; where that cannot be done, nothing is kept."""
    place = folder() / "wheels" / name
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_file.replace(place / wheel.name, wheel)


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
