"""The tests' files, the same bytes in both arms, without the package under test: what is imported is what is installed.

A source tree beside its tests would hide the installed package from them, and both arms would measure the same thing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pyharness.gate.arms import Arm, Arms, sources
from pyharness.gate.arms.checkouts import Checkout, GitFailed
from pyharness.gate.arms.sources import Revision
from pyharness.system.child_process import Child, ChildDied
from pyharness.types import InputError, Side

FOLDER = "tests"  # within the working folder of an arm
NOT_COPIED = shutil.ignore_patterns(".git", ".hg", ".svn", "__pycache__", "*.pyc", ".pytest_cache", "node_modules")
CONFIGURING = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")  # what pytest reads beside a test
MOST_BYTES = 256 << 20  # of a folder of tests that is in no checkout
_LIST = (
    "import importlib.metadata, json, sys\n"
    "print(json.dumps([str(one) for one in importlib.metadata.files(sys.argv[1]) or ()]))"
)


def provided(distribution: str, arm: Arm) -> frozenset[PurePosixPath]:
    """Ask an arm which files of a distribution are imported; relative to where it is installed."""
    program = [str(arm.python), "-P", "-s", "-c", _LIST]
    child = Child([distribution], program=program, environment=arm.variables, bare=True)
    try:
        listed = json.loads(child.listen() or b"[]")
    except ChildDied as death:
        raise InputError(f"{arm.side} {arm.source!r}: asked for the files of {distribution}, Python {death}") from None
    finally:
        child.close()
    paths = [PurePosixPath(one) for one in listed if not one.startswith("__editable__")]
    files = frozenset(path for path in paths if path.suffix in (".py", ".so") and ".." not in path.parts)
    if not files:
        raise InputError(
            f"{arm.side} {arm.source!r} has no files of {distribution}: it may be installed in editable mode, which "
            "measures a source tree; install a wheel"
        )
    return files


@dataclass(frozen=True, slots=True)
class Planted:
    """What both arms have to run."""

    path: str  # of a folder, a file or a single test, relative to the tree of the tests
    modules: tuple[str, ...]  # top-level names of what is under test


def plant(arms: Arms, path: str, folder: Path, room: Path) -> Planted:
    """Put the head's tests into both arms.

    Args:
        arms: both, with working folders of one length.
        path: what pytest is to run: a folder, a file, or a node id; relative to ``folder``.
        folder: where somebody has asked for it.
        room: folder for a while.

    Raises:
        InputError: there are no such tests, or an arm does not say what it has.
    """
    file, separator, test = path.partition("::")
    source, place = _source(arms.head.source, file, folder, room)
    if not (source / place).exists():
        raise InputError(f"--pytest {path!r}: --head {arms.head.source!r} has no such file or folder of tests")
    sides: dict[Side, Arm] = {"base": arms.base, "head": arms.head}
    modules = copy_tests(source, place, arms.base.under_test, sides)
    return Planted(f"{place}{separator}{test}", modules)


def _source(head: str, file: str, folder: Path, room: Path) -> tuple[Path, Path]:
    """Folder with a project's files, and where in it the tests are: those of the head where it has any."""
    asked, place = sources.find(head, head, folder)[1], (folder / file).resolve()
    if isinstance(asked, Revision):
        top = asked.checkout.top.resolve()
        inside = place.relative_to(top) if place.is_relative_to(top) else asked.checkout.project / Path(file)
        if not inside.is_absolute():
            return _exported(asked.checkout, asked.commit, room, changed=bool(asked.changes)), inside
    around = place if place.is_dir() else place.parent
    checkout = Checkout.around(around) if around.is_dir() else None
    commit = None if checkout is None else checkout.commit("HEAD")
    if checkout is None or commit is None:
        return _loose(place, room), Path(place.name) if place.is_file() else Path()
    return _exported(checkout, commit, room, changed=True), place.relative_to(checkout.top.resolve())


def _loose(place: Path, room: Path) -> Path:
    """Copy tests that are in no checkout: a file with what configures it, or a folder; never what is around them."""
    target = room / "project"
    if not place.is_dir():
        target.mkdir()
        for name in (place.name, *CONFIGURING):
            if (place.parent / name).is_file():
                shutil.copy(place.parent / name, target / name)
        return target
    if room.resolve().is_relative_to(place):
        raise InputError(f"--pytest {str(place)!r} holds the folder of temporary files: name a folder of tests alone")
    size = 0
    for file in place.rglob("*"):
        size += file.lstat().st_size
        if size > MOST_BYTES:
            raise InputError(
                f"--pytest {str(place)!r} holds more than {MOST_BYTES:,} bytes: name a folder of tests alone"
            )
    shutil.copytree(place, target, symlinks=True, ignore=NOT_COPIED)
    return target


def _exported(checkout: Checkout, commit: str, room: Path, *, changed: bool) -> Path:
    target = room / "project"
    try:
        checkout.export(commit, target)
        if changed:
            checkout.overlay(target)
    except GitFailed as failure:
        raise InputError(f"the tests of {commit[:12]} in {str(checkout.top)!r} cannot be read: {failure}") from None
    return target


def copy_tests(source: Path, test: Path, distribution: str, arms: Mapping[Side, Arm]) -> tuple[str, ...]:
    """Copy a project's files without the package under test into the working folder of each arm.

    Args:
        source: the project's files.
        test: what is to be run, relative to ``source``; a folder that holds it is never left out.
        distribution: the one under test.
        arms: both, with folders of one length.

    Returns:
        Top-level names of modules under test.

    Raises:
        InputError: an arm does not say what it has.
    """
    files = frozenset[PurePosixPath]().union(*(provided(distribution, arm) for arm in arms.values()))
    left_out = {*_sources(source, test, files)}
    for arm in arms.values():
        shutil.copytree(source, arm.folder / FOLDER, symlinks=True, ignore=_ignoring(left_out))
    return tuple(sorted({file.parts[0].partition(".")[0] for file in files}))


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
