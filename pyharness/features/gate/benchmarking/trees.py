"""The tests' files, the same bytes in both arms, without the package under test: what is imported is what is installed.

A source tree beside its tests would hide the installed package from them, and both arms would measure the same thing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pyharness.features.gate.arms import Arm, interpreters
from pyharness.features.gate.types import Side
from pyharness.types import InputError

FOLDER = "tests"  # within the working folder of an arm
NOT_COPIED = shutil.ignore_patterns(".git", ".hg", ".svn", "__pycache__", "*.pyc", ".pytest_cache", "node_modules")
_LIST = (
    "import importlib.metadata, json, sys\n"
    "print(json.dumps([str(one) for one in importlib.metadata.files(sys.argv[1]) or ()]))"
)


def provided(distribution: str, arms: Mapping[Side, Arm]) -> frozenset[PurePosixPath]:
    """Ask arms which files of a distribution are imported; relative to where it is installed.

    Raises:
        InputError: an arm does not say what it has.
        OutOfTime: not in time (``program.until``).
    """
    return frozenset[PurePosixPath]().union(*(_provided(distribution, arm) for arm in arms.values()))


def modules(files: frozenset[PurePosixPath]) -> tuple[str, ...]:
    """Top-level names of modules."""
    return tuple(sorted({file.parts[0].partition(".")[0] for file in files}))


def _provided(distribution: str, arm: Arm) -> frozenset[PurePosixPath]:
    def read(answer: Any) -> list[PurePosixPath]:
        return [PurePosixPath(one) for one in answer if not one.startswith("__editable__")]

    command, problem = (arm.python, _LIST, distribution), f"it does not say which files {distribution} has"
    paths = interpreters.said(arm.side, arm.source, command, read, problem, arm.variables)
    files = frozenset(path for path in paths if path.suffix in (".py", ".so") and ".." not in path.parts)
    if not files:
        raise InputError(
            f"{arm.side} {arm.source!r} has no files of {distribution}: it may be installed in editable mode, which "
            "measures a source tree; install a wheel"
        )
    return files


def copy_tests(source: Path, test: Path, files: frozenset[PurePosixPath], target: Path) -> None:
    """Copy a project's files without the package under test.

    Args:
        source: the project's files.
        test: what is to be run, relative to ``source``; a folder that holds it is never left out.
        files: those of the package, as ``provided`` says.
        target: folder that is made.
    """
    left_out = {*_sources(source, test, files)}
    shutil.copytree(source, target, symlinks=True, ignore=_ignoring(left_out))


def _ignoring(left_out: set[Path]) -> Callable[[str, list[str]], set[str]]:
    def ignored(folder: str, names: list[str]) -> set[str]:
        here = Path(folder)
        environments = {name for name in names if (here / name / "pyvenv.cfg").is_file()}
        return {*NOT_COPIED(folder, names), *environments, *(name for name in names if here / name in left_out)}

    return ignored


def _sources(source: Path, test: Path, files: frozenset[PurePosixPath]) -> Iterator[Path]:
    """Folders and files that a package was made of: those of its top-level names that hold one of its files."""
    needed = {source / test, *(source / test).parents}
    tops: dict[str, list[PurePosixPath]] = {}
    for file in files:
        tops.setdefault(file.parts[0], []).append(file)
    for place, folders, names in os.walk(source):
        here, own = Path(place), set()
        for name in tops.keys() & {*folders, *names}:
            if here / name not in needed and any((here / file).is_file() for file in tops[name]):
                own.add(name)
                yield here / name
        skipped = {*own, *NOT_COPIED(place, folders)}
        folders[:] = [one for one in folders if one not in skipped and not (here / one / "pyvenv.cfg").is_file()]
