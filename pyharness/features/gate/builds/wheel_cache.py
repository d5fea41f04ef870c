"""Recently built wheels, keyed by all that is known to determine a build.

The key cannot cover packages that a build fetches from an index (a newer pybind11, say). A wheel of last week and one
of today would differ by them as if the code had changed. So wheels are kept for a day.
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
DIGEST = ".sha256"  # suffix instead of .whl: the file next to a wheel with its digest
# Name of a compiler -> variable that names another one.
COMPILERS = {"cc": "CC", "c++": "CXX", "nvcc": "CUDACXX", "rustc": "", "cmake": ""}


def folder() -> Path:
    """Return the folder of a gate's cached files."""
    return folders.cache() / "gate"


def key(source: Revision, environment: Mapping[str, str], *, isolated: bool) -> str:
    """Return the digest of all that determines a wheel, except packages that its build fetches.

    That is: commit, changes, project, interpreter, all variables of the build, versions of the compilers on its path
    (or their absence), and the installed packages, if the build uses them.
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
    """Return a compiler's version text; None where it is absent, cannot be run, or is slow to answer."""
    words = compiler.split()  # "ccache g++"
    path = shutil.which(words[0], path=environment.get("PATH")) if words else None
    return None if path is None else _output((path, *words[1:], "--version"), tuple(environment.items()))


@functools.cache  # asked for both sides, before their builds and after
def _output(command: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> str | None:
    try:
        ran = program.run(command, dict(environment), seconds=ANSWER_SECONDS)
    except (InputError, program.OutOfTime):
        return None
    return ran.output.decode(errors="replace")  # all lines: nvcc prints its version in the fourth


def find(name: str) -> Path | None:
    """Return the cached wheel of a key, unless it is too old or its digest has changed."""
    wheels = (folder() / "wheels" / name).glob("*.whl")
    return next((wheel for wheel in wheels if not _is_old(wheel) and _is_whole(wheel)), None)


def _is_whole(wheel: Path) -> bool:
    try:
        return bounded_file.read(wheel.with_suffix(DIGEST), 64, DIGEST).decode("ascii") == bounded_file.digest(wheel)
    except (OSError, ValueError):
        return False


def keep(name: str, wheel: Path) -> None:
    """Cache a wheel; ignore failures to write."""
    place = folder() / "wheels" / name
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_file.keep(place / wheel.name, wheel)
        atomic_file.keep((place / wheel.name).with_suffix(DIGEST), bounded_file.digest(wheel))


def clear() -> None:
    """Remove expired wheels and logs."""
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
