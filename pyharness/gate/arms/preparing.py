"""Two arms from two names: both are there before either is timed, and gone when the session ends."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyharness import tokenizers
from pyharness.gate.arms import building, environments, sources, variables, wheel_cache
from pyharness.gate.arms.arm import Arm
from pyharness.gate.arms.building import Workshop
from pyharness.gate.arms.environments import Libraries, normalised
from pyharness.gate.arms.sources import Installed, Revision, Source, Specified, Wheel
from pyharness.store.scratch import scratch
from pyharness.types import SIDES, InputError, Side

OURS = "pyharness"
Pair = dict[Side, Source]


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
    version: str
    libraries: Libraries


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

    Raises:
        InputError: a side is nothing of what can be given, or the two have nothing to do with each other.
        NotBuilt: a side does not build or install.
    """
    found: Pair = dict(zip(SIDES, sources.find(base, head, folder), strict=True))
    said = [*sources.notes((found["base"], found["head"]))]
    wheel_cache.clear()
    with scratch() as room:
        for side in SIDES:
            (room / f"run-{side}").mkdir()
        if isinstance(found["base"], Specified):
            yield _of_tokenizers(found, room, threads, tuple(said))
            return
        workshop = Workshop(room, listener, isolated, cache and not separate)
        made, wheels = _made(found, workshop, requirements)
        under_test, notes = _under_test(library, found, wheels, made)
        said += [*notes, *_exposed(found)]
        yield _of_environments(found, made, under_test, threads, room, tuple(dict.fromkeys(said)))


def _of_tokenizers(found: Pair, room: Path, threads: int, notes: tuple[str, ...]) -> Arms:
    passed = variables.for_processes(os.environ, threads, here=True)
    both = {}
    for side, source in found.items():
        row = tokenizers.obtain(source.asked)  # nothing is fetched or trained when the clock runs
        version = row.vocabulary or source.asked
        both[side] = Arm(
            side, source.asked, version, Path(sys.executable), room / f"run-{side}", passed, "", source.asked
        )
    return Arms(both["base"], both["head"], notes)


def _of_environments(
    found: Pair, made: dict[Side, Made], under_test: str, threads: int, room: Path, notes: tuple[str, ...]
) -> Arms:
    passed = variables.for_processes(os.environ, threads, here=False)
    both = {}
    for side, source in found.items():
        version = made[side].version or made[side].libraries[under_test]
        run = room / f"run-{side}"
        both[side] = Arm(side, source.asked, version, made[side].python, run, passed, under_test)
    return Arms(both["base"], both["head"], notes)


def _made(found: Pair, workshop: Workshop, requirements: Sequence[str]) -> tuple[dict[Side, Made], dict[Side, Wheel]]:
    """All wheels first, so that a head that does not build costs no installation; then environments."""
    wheels = {
        side: _wheel(side, source, workshop) for side, source in found.items() if not isinstance(source, Installed)
    }
    made: dict[Side, Made] = {}
    for side, source in sorted(
        found.items(), key=lambda item: (item[0] in wheels, item[0])
    ):  # those that are given first
        if isinstance(source, Installed):
            python = environments.given(side, source, workshop)
        else:
            like = next((other.libraries for other in made.values()), None)
            python = environments.fresh(side, wheels[side], workshop, like=like, requirements=requirements)
        version = source.version if isinstance(source, Revision | Wheel) else ""
        made[side] = Made(python, version, environments.libraries(side, source.asked, python))
    return made, wheels


def _wheel(side: Side, source: Source, workshop: Workshop) -> Wheel:
    if importlib.util.find_spec("pip") is None:
        raise InputError(
            f"--{side} {source.asked!r} has to be installed, which needs pip: {sys.executable} -m ensurepip"
        )
    if isinstance(source, Wheel):
        return source
    assert isinstance(source, Revision)  # noqa: S101 -- environments and tokenizers are not built
    return sources.wheel(side, source.asked, building.wheel_of(side, source, workshop))


def _under_test(
    asked: str | None, found: Pair, wheels: dict[Side, Wheel], made: dict[Side, Made]
) -> tuple[str, tuple[str, ...]]:
    """Which distribution the two sides may differ in, and what to say of the choice."""
    names = {side: normalised(wheel.distribution) for side, wheel in wheels.items()}
    if len({*names.values()}) > 1:
        raise InputError(
            f"--base is a wheel of {names['base']} and --head one of {names['head']}: give two of one library"
        )
    base, head = made["base"].libraries, made["head"].libraries
    differ = sorted(name for name in base.keys() & head.keys() if base[name] != head[name])
    chosen = normalised(asked) if asked else next(iter(names.values()), "") or _guessed(base, head, differ)
    for side in SIDES:
        if chosen not in made[side].libraries:
            raise InputError(f"--{side} {found[side].asked!r} has no {chosen}; name what is under test with --library")
    if asked or names:
        return chosen, ()
    return chosen, (f"what is under test is taken to be {chosen}; --library names another",)


def _guessed(base: Libraries, head: Libraries, differ: list[str]) -> str:
    if len(differ) == 1:
        return differ[0]
    if OURS in base and OURS in head:
        return OURS
    known = ", ".join(differ) or "no versions"
    raise InputError(f"the two environments differ in {known}: name what is under test with --library")


def _exposed(found: Pair) -> Iterator[str]:
    if any(isinstance(source, Revision) for source in found.values()):
        yield from variables.exposed(variables.for_building(os.environ))
