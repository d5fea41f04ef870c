"""Tests that a gate runs: the head's, planted into both arms, and the base's own, which show deleted benchmarks.

Both arms get the same files, without the package under test. A source tree next to its tests would hide the installed
package, and both arms would measure the same code.
"""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pyharness.features.gate.builds import environments
from pyharness.features.gate.builds.arms import Arm, Arms
from pyharness.features.gate.builds.checkouts import Checkout, GitFailed
from pyharness.features.gate.builds.names import Pair, Revision, Source, Specified, absent
from pyharness.features.gate.suites import MOST_BYTES as MOST_BYTES_OF_A_FILE
from pyharness.features.gate.suites import digest_of, plain_tree
from pyharness.features.gate.types import Side
from pyharness.system import bounded_file
from pyharness.types import InputError

FOLDER = "tests"  # within the working folder of an arm
NOT_COPIED = shutil.ignore_patterns(".git", ".hg", ".svn", "__pycache__", "*.pyc", ".pytest_cache", "node_modules")
_LIST = (
    "import importlib.metadata, json, sys\n"
    "print(json.dumps([str(one) for one in importlib.metadata.files(sys.argv[1]) or ()]))"
)
OWN = "own"  # folder of the base's own tests
CONFIGURING = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")  # read by pytest next to a test
MOST_BYTES = 256 << 20  # of a folder of tests outside of any checkout


@dataclass(frozen=True, slots=True)
class PlantedTests:
    """Tests that both arms run."""

    path: str  # of a folder, a file or a single test, relative to the tree of the tests
    modules: tuple[str, ...]  # top-level names of the package under test
    own: Path | None = None  # tree of the base's own tests, in no arm's folder; None: it has none, or none are known
    notes: tuple[str, ...] = ()


def check_there(sources: Pair, path: str, folder: Path) -> None:
    """Raise ``InputError`` where neither side has the tests, or both are tokenizers; before anything is built."""
    base, head = sources
    if isinstance(head, Specified):
        raise InputError(f"--pytest {path!r} needs two builds of a library: revisions, wheels or environments")
    file = path.partition("::")[0]
    inside = _inside(head, file, folder)
    if inside is None:
        there = (folder / file).exists()
    else:
        there = any(_has(source, inside) for source in (base, head) if isinstance(source, Revision))
    if not there:
        raise absent("--pytest", file, folder / file, f"name a folder or file of tests that {head.asked!r} has")


def _has(source: Revision, inside: Path) -> bool:
    if source.changes is not None:
        return (source.checkout.top / inside).exists()
    return source.checkout.has(source.commit, inside)


def _inside(head: Source, file: str, folder: Path) -> Path | None:
    """Return the path of tests in the checkout of the head; None without a checkout, or for tests elsewhere."""
    if not isinstance(head, Revision):
        return None
    place, top = (folder / file).resolve(), head.checkout.top.resolve()
    inside = place.relative_to(top) if place.is_relative_to(top) else head.checkout.project / Path(file)
    return None if inside.is_absolute() else inside


def plant(arms: Arms, sources: Pair, path: str, folder: Path, room: Path) -> PlantedTests:
    """Copy the head's tests into both arms, and the base's own into ``room``.

    Args:
        arms: both arms, with working folders of one length.
        sources: sources of the arms.
        path: tests for pytest: a folder, a file, or a node id; relative to ``folder``.
        folder: the user's working folder.
        room: a temporary folder.

    Raises:
        InputError: an arm does not list its files, a side has changed since its build, or the tests cannot be read.
    """
    file, separator, test = path.partition("::")
    base, head = sources
    _check_current((base, arms.base), (head, arms.head))
    tests = _tests(head, file, folder, room)
    theirs, notes = _of_base(base, tests, room)
    sides: dict[Side, Arm] = {"base": arms.base, "head": arms.head}
    files = provided(arms.base.under_test, sides)
    for arm in sides.values():
        copy_tests(tests.tree, tests.place, files, arm.folder / FOLDER)
    if theirs is not None:
        copy_tests(theirs, tests.place, files, room / OWN)
    own = None if theirs is None else room / OWN
    return PlantedTests(f"{tests.place}{separator}{test}", modules(files), own, notes)


def _check_current(*made: tuple[Source, Arm]) -> None:
    """Refuse a working tree that has changed: its tests would belong to other code than the arm's."""
    for source, arm in made:
        if isinstance(source, Revision) and (now := source.now()) != source:
            raise InputError(
                f"--{arm.side} {arm.source!r} has changed since its build ({now.version[:12]}, built "
                f"{arm.version[:12]}), and so have its tests: run the gate again"
            )


@dataclass(frozen=True, slots=True)
class ProjectTests:
    """A project's files, and the place of its tests."""

    tree: Path
    place: Path  # relative to ``tree``
    checkout: Path | None  # the checkout of the files
    heads: bool  # whether the tests are the head's own


def _tests(head: Source, file: str, folder: Path, room: Path) -> ProjectTests:
    """Return the head's tests if it is a revision and the path is in its checkout, else those at the named path."""
    place, target = (folder / file).resolve(), room / "project"
    if isinstance(head, Revision) and (inside := _inside(head, file, folder)) is not None:
        _export(head.checkout, head.commit, target, changed=bool(head.changes))
        return ProjectTests(target, inside, head.checkout.top, heads=True)
    around = place if place.is_dir() else place.parent
    checkout = Checkout.around(around) if around.is_dir() else None
    commit = None if checkout is None else checkout.commit("HEAD")
    if checkout is None or commit is None:
        return ProjectTests(_loose(place, room), Path(place.name) if place.is_file() else Path(), None, heads=False)
    _export(checkout, commit, target, changed=True)
    return ProjectTests(target, place.relative_to(checkout.top.resolve()), checkout.top, heads=False)


def _of_base(base: Source, tests: ProjectTests, room: Path) -> tuple[Path | None, tuple[str, ...]]:
    """Return the base's files if it is of the tests' project and has these tests, else a note."""
    if not isinstance(base, Revision) or not (tests.heads or base.checkout.top == tests.checkout):
        return None, (f"{base.asked!r} has no known tests of its own: a removed benchmark goes unnoticed",)
    target = room / "base"
    _export(base.checkout, base.commit, target, changed=bool(base.changes))
    if not (target / tests.place).exists():
        return None, (f"the base has no {str(tests.place)!r}: all benchmarks are new",)
    return target, ()


def _loose(place: Path, room: Path) -> Path:
    """Copy tests outside of any checkout: a file with its configuration, or a folder; never their neighbours."""
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


def _export(checkout: Checkout, commit: str, target: Path, *, changed: bool) -> None:
    try:
        checkout.export(commit, target, changed=changed)
    except GitFailed as failure:
        raise InputError(f"the tests of {commit[:12]} in {str(checkout.top)!r} cannot be read: {failure}") from None


def provided(distribution: str, arms: Mapping[Side, Arm]) -> frozenset[PurePosixPath]:
    """Ask the arms for a distribution's importable files, relative to its installation.

    Raises:
        InputError: an arm does not list its files.
        OutOfTime: an arm does not answer in time (``program.until``).
    """
    return frozenset[PurePosixPath]().union(*(_provided_files(distribution, arm) for arm in arms.values()))


def modules(files: frozenset[PurePosixPath]) -> tuple[str, ...]:
    """Return the top-level names of modules."""
    return tuple(sorted({file.parts[0].partition(".")[0] for file in files}))


def _provided_files(distribution: str, arm: Arm) -> frozenset[PurePosixPath]:
    def read(answer: Any) -> list[PurePosixPath]:
        return [PurePosixPath(one) for one in answer if not one.startswith("__editable__")]

    command, problem = (arm.python, _LIST, distribution), f"it does not say which files {distribution} has"
    paths = environments.ask(arm.side, arm.source, command, read, problem, arm.variables)
    files = frozenset(path for path in paths if path.suffix in (".py", ".so") and ".." not in path.parts)
    if not files:
        raise InputError(
            f"{arm.side} {arm.source!r} has no files of {distribution}: it may be installed in editable mode, which "
            "measures a source tree; install a wheel"
        )
    return files


def copy_tests(source: Path, test: Path, files: frozenset[PurePosixPath], target: Path) -> None:
    """Copy a project's files without the package under test, ``NOT_COPIED`` and virtual environments.

    Args:
        source: the project's files.
        test: the tests to run, relative to ``source``; a folder that contains them is always copied.
        files: the package's files from ``provided``.
        target: the new folder.
    """
    left_out = {*_sources(source, test, files)}

    def ignored(folder: str, names: list[str]) -> set[str]:
        here = Path(folder)
        made = {name for name in names if (here / name / "pyvenv.cfg").is_file()}
        return {*NOT_COPIED(folder, names), *made, *(name for name in names if here / name in left_out)}

    shutil.copytree(source, target, symlinks=True, ignore=ignored)


def _sources(source: Path, test: Path, files: frozenset[PurePosixPath]) -> Iterator[Path]:
    """Yield a package's sources: folders and files of its top-level names that contain one of its files."""
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


def definitions(tree: Path, names: Iterable[str]) -> dict[str, str]:
    """Return a digest of the code of the file that holds each test; none for a file that cannot be read.

    A test shares its file with its fixtures and helpers, so all of the file counts; conftest.py does not.
    """
    digests: dict[str, str] = {}
    for name in names:
        with suppress(InputError, OSError):
            source = bounded_file.read(tree / name.partition("::")[0], MOST_BYTES_OF_A_FILE, name)
            digests[name] = digest_of(ast.dump(plain_tree(source, name)).encode("utf-8", "surrogatepass"))
    return digests
