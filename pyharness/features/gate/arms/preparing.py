"""Two arms from two names: both are there before either is timed, and gone when the session ends."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyharness.features.gate import building, sources
from pyharness.features.gate.arms import choosing, environments, origins
from pyharness.features.gate.arms.arm import Arm
from pyharness.features.gate.arms.environments import Contents
from pyharness.features.gate.building import Workshop, wheel_cache
from pyharness.features.gate.sources import Installed, Revision, Source, Specified, Wheel, variables
from pyharness.features.gate.types import SIDES, Side
from pyharness.store.folders import scratch
from pyharness.system import lifeline, program
from pyharness.system.child_process import ending
from pyharness.types import InputError

Pair = dict[Side, Source]
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
class Arms:
    """Both sides, and what a reader should know of how they came about."""

    base: Arm
    head: Arm
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """Interpreter of a side, and which version of what is under test it has."""

    python: Path
    version: str  # "" where it is that of the library
    contents: Contents


@contextmanager
def arms(
    base: str,
    head: str,
    *,
    folder: Path,
    listener: Callable[[str], object] = str,  # which does nothing
    library: str | None = None,
    threads: int = 1,
    requirements: Sequence[str] = (),
    isolated: bool = True,
    cache: bool = True,
    separate: bool = False,
    passed: Sequence[str] = (),
) -> Iterator[Arms]:
    """Make both arms; they are removed at the end of the block.

    Args:
        base: what is measured against: see ``sources``.
        head: what is judged.
        folder: where paths and revisions are looked up.
        listener: is told what goes on, a line at a time.
        library: distribution under test; None: that of the wheels, or the only one in which two environments differ.
        threads: the most that any benchmark asks for.
        requirements: what the arms need besides (never put into environments that were given).
        isolated: whether build requirements are fetched; else those that are installed here are used.
        cache: whether wheels built today are used again.
        separate: whether both are built, each in a folder of its own, even where they are one commit.
        passed: names of further variables that builds and installs get.

    Raises:
        InputError: a side is nothing of what can be given, or the two have nothing to do with each other.
        NotBuilt: a side does not build or install.
        OutOfTime: it takes too long (``program.until``).
    """
    found: Pair = dict(zip(SIDES, sources.find(base, head, folder), strict=True))
    said = [*sources.notes((found["base"], found["head"]))]
    let_through = variables.further(passed, os.environ)
    wheel_cache.clear()
    with scratch() as room, lifeline.unreadable():  # what runs from here on is the code under test
        for side in SIDES:
            (room / f"run-{side}").mkdir()
        if isinstance(found["base"], Specified):
            yield _of_tokenizers(found, room, threads, tuple(said))
            return
        workshop = Workshop(room, listener, isolated, cache and not separate, let_through)
        made, wheels = _made(found, workshop, requirements)
        installed = {side: made[side].contents.libraries for side in SIDES}
        under_test, notes = choosing.under_test(library, wheels, installed)
        if len({source.asked for source in found.values()}) == len(SIDES):  # not one environment against itself
            _check_files(found, made, under_test)
        said += [*notes, *_exposed(found, workshop)]
        yield _of_environments(found, made, under_test, threads, room, tuple(dict.fromkeys(said)))


def _of_tokenizers(found: Pair, room: Path, threads: int, notes: tuple[str, ...]) -> Arms:
    passed = variables.for_processes(os.environ, threads, here=True)
    both = {}
    for side, source in found.items():
        version = _obtained(side, source.asked)
        both[side] = Arm(
            side, source.asked, version, Path(sys.executable), room / f"run-{side}", passed, "", source.asked
        )
    return Arms(both["base"], both["head"], notes)


def _obtained(side: Side, asked: str) -> str:
    """Have a row's vocabulary downloaded or trained before the clock runs; returns its version.

    A process does it, which can be ended: another one that trains the same row may be waited for.
    """
    try:
        ran = program.run([sys.executable, "-P", "-c", _OBTAIN, asked], os.environ, seconds=math.inf)
    except program.OutOfTime as ended:
        raise program.OutOfTime(f"time ran out while {side} {asked!r} was downloaded or trained: {ended}") from None
    said = ran.output.decode(errors="replace").strip().splitlines()
    if ran.status != 0 or not said:
        raise InputError(f"--{side} {asked!r} cannot be had: {ending(ran.status, ran.complaints)}")
    answer = json.loads(said[-1])
    if "refused" in answer:
        raise InputError(answer["refused"])
    return str(answer["version"] or asked)


def _of_environments(
    found: Pair, made: dict[Side, Made], under_test: str, threads: int, room: Path, notes: tuple[str, ...]
) -> Arms:
    passed = variables.for_processes(os.environ, threads, here=False)
    both = {}
    for side, source in found.items():
        version = made[side].version or made[side].contents.libraries[under_test]
        run = room / f"run-{side}"
        both[side] = Arm(side, source.asked, version, made[side].python, run, passed, under_test)
    return Arms(both["base"], both["head"], notes)


def _made(found: Pair, workshop: Workshop, requirements: Sequence[str]) -> tuple[dict[Side, Made], dict[Side, Wheel]]:
    """Make environments: those that are given first, then all wheels, so that what does not build costs no more."""
    made = {side: _given(side, source, workshop) for side, source in found.items() if isinstance(source, Installed)}
    rest = [side for side in SIDES if side not in made]
    if rest and made:
        _check_python(found, next(iter(made.items())))
    for side in rest:  # before anything is built: a working tree may change meanwhile
        source = found[side]
        if isinstance(source, Revision) and building.kept(source, workshop) is None:
            building.export(side, source, workshop)
    wheels = {side: _wheel(side, found[side], workshop) for side in rest}
    for side, wheel in wheels.items():
        like = next((other.contents.libraries for other in made.values()), None)
        sources.check_unchanged(side, wheel)
        python = environments.fresh(side, wheel, workshop, like=like, requirements=requirements)
        source = found[side]
        version = source.version if isinstance(source, Revision) else wheel.version
        made[side] = Made(python, version, environments.contents(side, wheel.asked, python))
    return made, wheels


def _given(side: Side, source: Installed, workshop: Workshop) -> Made:
    python = environments.given(side, source, workshop)
    return Made(python, "", environments.contents(side, source.asked, python))


def _check_files(found: Pair, made: Mapping[Side, Made], under_test: str) -> None:
    """Refuse two environments that have one tree installed: what was built apart lies apart."""
    if all(isinstance(source, Installed) for source in found.values()):
        asked: dict[Side, str] = {side: source.asked for side, source in found.items()}
        origins.check_different({side: one.python for side, one in made.items()}, asked, under_test)


def _check_python(found: Pair, given: tuple[Side, Made]) -> None:
    side, made = given
    ours = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    if made.contents.python != ours:
        raise InputError(
            f"--{side} {found[side].asked!r} has {made.contents.python}, and the other side would be made for {ours}: "
            f"run the gate with {made.contents.python}, or give two environments"
        )


def _wheel(side: Side, source: Source, workshop: Workshop) -> Wheel:
    if importlib.util.find_spec("pip") is None:
        raise InputError(
            f"--{side} {source.asked!r} has to be installed, which needs pip: {sys.executable} -m ensurepip"
        )
    if isinstance(source, Wheel):
        return source
    assert isinstance(source, Revision)  # noqa: S101 -- environments and tokenizers are not built
    return sources.wheel(side, source.asked, building.wheel_of(side, source, workshop))


def _exposed(found: Pair, workshop: Workshop) -> Iterator[str]:
    if any(isinstance(source, Revision) for source in found.values()):
        yield from variables.exposed(workshop.variables())
