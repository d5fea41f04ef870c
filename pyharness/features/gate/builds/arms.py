"""The arms of both sides: made before either is timed, removed when the session ends."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyharness.features.gate.builds import environments, names, variables, wheel_cache, workshop
from pyharness.features.gate.builds.environments import Contents, Libraries
from pyharness.features.gate.builds.names import Installed, Pair, Revision, Source, Specified, Wheel
from pyharness.features.gate.builds.workshop import BuildOptions, Workshop
from pyharness.features.gate.types import SIDES, Side, normalised
from pyharness.system import lifeline, program
from pyharness.system.child_process import ending
from pyharness.system.folders import scratch
from pyharness.types import InputError

OURS = "pyharness"
_OBTAIN = """
import json, sys
from pyharness import tokenizers
from pyharness.types import InputError

try:
    said = {"version": tokenizers.obtain(sys.argv[1]).vocabulary}
except InputError as refusal:
    said = {"refused": str(refusal)}
print("\\n" + json.dumps(said))
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side, ready to start. Paths and variables of both sides have the same lengths."""

    side: Side
    source: str  # as the user named it
    version: str  # of what is under test: a commit, a version, a digest, a vocabulary
    python: Path  # interpreter of the arm's environment
    folder: Path  # working folder of its processes
    variables: Mapping[str, str]  # the whole environment of its processes
    under_test: str  # distribution that may differ between the sides; "" for two tokenizers of one environment
    tokenizer: str | None = None  # specification, where two tokenizers are compared


@dataclass(frozen=True, slots=True)
class Arms:
    """Both sides, with notes for the reader on how they were made."""

    base: Arm
    head: Arm
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArmEnvironment:
    """Interpreter of a side, and its version of the library under test."""

    python: Path
    version: str  # "": the library's own version number
    contents: Contents


@contextmanager
def prepare(
    sources: Pair,
    options: BuildOptions,
    *,
    threads: int = 1,
    listener: Callable[[str], object] = str,  # the default does nothing
) -> Iterator[Arms]:
    """Make both arms, and remove them at the end of the block.

    Args:
        sources: base and head.
        options: how to make the arms.
        threads: the largest number that any benchmark asks for.
        listener: gets one line for each step.

    Raises:
        InputError: the two sources are unrelated, one has changed meanwhile or cannot be used, or a variable of
            ``passed`` is not set.
        NotBuilt: a side does not build or install.
        OutOfTime: the builds take too long (``program.until``).
    """
    by_side: dict[Side, Source] = dict(zip(SIDES, sources, strict=True))
    remarks = [*names.notes(sources)]
    passed = variables.further(options.passed, os.environ)
    wheel_cache.clear()
    with scratch() as room, lifeline.unreadable():  # from here on the code under test runs
        for side in SIDES:
            (room / f"run-{side}").mkdir()
        if here := isinstance(sources[0], Specified):
            under_test, pythons = "", dict.fromkeys(SIDES, Path(sys.executable))
            versions = {side: _obtain(side, source.asked) for side, source in by_side.items()}
        else:
            shop = Workshop(room, listener, options, passed)
            made, wheels = _obtain_all(by_side, shop)
            installed = {side: one.contents.libraries for side, one in made.items()}
            under_test, notes = _distribution(options.library, wheels, installed)
            _check_files(by_side, made, under_test)
            remarks += [*notes, *_note_exposed(by_side, shop)]
            pythons = {side: one.python for side, one in made.items()}
            versions = {side: one.version or installed[side][under_test] for side, one in made.items()}
        given = variables.for_processes(os.environ, threads, here=here)
        base, head = (
            Arm(
                side, by_side[side].asked, versions[side], pythons[side], room / f"run-{side}", given, under_test,
                by_side[side].asked if here else None,
            )
            for side in SIDES
        )  # fmt: skip
        yield Arms(base, head, tuple(dict.fromkeys(remarks)))


def _obtain(side: Side, asked: str) -> str:
    """Download or train a row's vocabulary before the clock runs; return its version.

    A child process does so, because the gate can end it: it may wait for another that trains the same row.
    """
    try:
        ran = program.run([sys.executable, "-P", "-c", _OBTAIN, asked], os.environ, seconds=math.inf)
    except program.OutOfTime as ended:
        raise program.OutOfTime(f"time ran out while {side} {asked!r} was downloaded or trained: {ended}") from None
    lines = ran.output.decode(errors="replace").strip().splitlines()
    if ran.status != 0 or not lines:
        raise InputError(f"--{side} {asked!r} cannot be loaded: {ending(ran.status, ran.complaints)}")
    answer = json.loads(lines[-1])
    if "refused" in answer:
        raise InputError(answer["refused"])
    return str(answer["version"] or asked)


def _obtain_all(sources: Mapping[Side, Source], shop: Workshop) -> tuple[dict[Side, ArmEnvironment], dict[Side, Wheel]]:
    """Obtain environments: given ones first, then all wheels, so that a failed build costs no further work."""
    made = {side: _given(side, source, shop) for side, source in sources.items() if isinstance(source, Installed)}
    rest = [side for side in SIDES if side not in made]
    if rest and made:
        _check_python(sources, next(iter(made.items())))
    for side in rest:  # before any build: a working tree may change meanwhile
        source = sources[side]
        if isinstance(source, Revision) and workshop.kept(source, shop) is None:
            workshop.export(side, source, shop)
    wheels = {side: _wheel(side, sources[side], shop) for side in rest}
    for side, wheel in wheels.items():
        like = next((other.contents.libraries for other in made.values()), None)
        names.check_unchanged(side, wheel)
        python = environments.fresh(side, wheel, shop, like=like)
        source = sources[side]
        version = source.version if isinstance(source, Revision) else wheel.version
        made[side] = ArmEnvironment(python, version, environments.contents(side, wheel.asked, python))
    return made, wheels


def _given(side: Side, source: Installed, shop: Workshop) -> ArmEnvironment:
    python = environments.given(side, source, shop)
    return ArmEnvironment(python, "", environments.contents(side, source.asked, python))


def _check_files(sources: Mapping[Side, Source], made: Mapping[Side, ArmEnvironment], under_test: str) -> None:
    """Refuse two environments with one installed tree; separate builds never share files."""
    asked = {side: source.asked for side, source in sources.items()}
    if all(isinstance(source, Installed) for source in sources.values()) and asked["base"] != asked["head"]:
        environments.check_different({side: one.python for side, one in made.items()}, asked, under_test)


def _check_python(sources: Mapping[Side, Source], given: tuple[Side, ArmEnvironment]) -> None:
    side, made = given
    ours = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    if made.contents.python != ours:
        raise InputError(
            f"--{side} {sources[side].asked!r} has {made.contents.python}, and the other side would have {ours}: run "
            f"the gate with {made.contents.python}, or give two environments"
        )


def _wheel(side: Side, source: Source, shop: Workshop) -> Wheel:
    if importlib.util.find_spec("pip") is None:
        raise InputError(
            f"--{side} {source.asked!r} has to be installed, which needs pip: {sys.executable} -m ensurepip"
        )
    if isinstance(source, Wheel):
        return source
    assert isinstance(source, Revision)  # noqa: S101 -- environments and tokenizers are not built
    return names.wheel(side, source.asked, workshop.wheel_of(side, source, shop))


def _note_exposed(sources: Mapping[Side, Source], shop: Workshop) -> Iterator[str]:
    if any(isinstance(source, Revision) for source in sources.values()):
        yield from variables.exposed(shop.variables())


def _distribution(
    asked: str | None, wheels: Mapping[Side, Wheel], installed: Mapping[Side, Libraries]
) -> tuple[str, tuple[str, ...]]:
    """Choose the distribution under test; return it with notes.

    It is the one asked for, that of a wheel, the only one that differs between two environments, or else pyharness.

    Raises:
        InputError: the wheels are of two libraries, a side lacks the distribution, or the choice is ambiguous.
    """
    named = {side: normalised(wheel.distribution) for side, wheel in wheels.items()}
    if len({*named.values()}) > 1:
        raise InputError(f"--base is {named['base']!r} and --head {named['head']!r}: give two versions of one library")
    chosen = normalised(asked) if asked else next(iter(named.values()), "") or _guess_library(installed)
    for side in SIDES:
        if chosen not in installed[side]:
            near = names.near(chosen, installed[side])
            raise names.UnknownName(f"{side} has no {chosen!r}", "name the library under test with --library", near)
    if asked or named:
        return chosen, ()
    return chosen, (f"{chosen} is taken as the library under test; --library names another",)


def _guess_library(installed: Mapping[Side, Libraries]) -> str:
    base, head = installed["base"], installed["head"]
    differ = sorted(name for name in base.keys() & head.keys() if base[name] != head[name])
    if len(differ) == 1:
        return differ[0]
    if OURS in base and OURS in head:
        return OURS
    raise InputError(
        f"two environments differ in {', '.join(differ) or 'nothing'}: name the library under test with --library"
    )
