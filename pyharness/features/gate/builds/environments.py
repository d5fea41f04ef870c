"""Environments of both sides: paths of one length and, where pip can, equal versions of the dependencies."""

from __future__ import annotations

import json
import os
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pyharness.features.gate.builds import variables
from pyharness.features.gate.builds.names import Installed, Wheel
from pyharness.features.gate.builds.workshop import NotBuilt, Workshop, run_pip
from pyharness.features.gate.types import SIDES, Side, normalised
from pyharness.system import program
from pyharness.types import InputError

ANSWER_SECONDS = 300.0  # an interpreter on a cold disk is slow
T = TypeVar("T")


def ask(
    side: Side,
    asked: str,
    command: tuple[Path, str, *tuple[str, ...]],
    read: Callable[[Any], T],
    problem: str,
    environment: Mapping[str, str] | None = None,
) -> T:
    """Run a script that prints JSON, and return its answer.

    Args:
        side: the side of the interpreter.
        asked: the side's name as the user gave it.
        command: the interpreter, the script, and its arguments.
        read: makes the answer from the JSON; raises where the JSON has another shape.
        problem: name of the problem in messages when no answer comes.
        environment: variables of the script, where the installed packages depend on them.

    Raises:
        InputError: the script does not answer, or answers in another shape.
        OutOfTime: it does not end within ``ANSWER_SECONDS``, or the time of ``program.until``.
    """
    python, script, *arguments = command
    alone = ["-I"] if environment is None else ["-P", "-s"]
    given = variables.for_processes(os.environ, 1, here=False) if environment is None else environment
    ran = program.run([str(python), *alone, "-c", script, *arguments], given, seconds=ANSWER_SECONDS)
    try:
        return read(json.loads(ran.output))
    except (ValueError, TypeError, AttributeError, RecursionError):
        lines = ran.complaints.strip().splitlines() or [f"it ended with status {ran.status}"]
        raise InputError(f"--{side} {asked!r}: {problem}: {lines[-1][:300]}") from None


_SAY_CONTENTS = (
    "import importlib.metadata, json, sys\n"
    "print(json.dumps(['%s %d.%d' % (sys.implementation.name, *sys.version_info[:2]),"
    " [(one.name, one.version) for one in importlib.metadata.distributions() if one.name]]))"
)
Libraries = Mapping[str, str]  # versions of installed distributions, by normalised name


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of an environment."""

    python: str  # implementation and version, without the last number
    libraries: Libraries


def given(side: Side, source: Installed, workshop: Workshop) -> Path:
    """Return the interpreter of a given environment, by a path as long as the other side's."""
    link = workshop.room / f"arm-{side}"
    link.symlink_to(source.folder, target_is_directory=True)  # Python looks for its environment where it is called
    return link / "bin" / "python"


def fresh(side: Side, wheel: Wheel, workshop: Workshop, *, like: Libraries | None = None) -> Path:
    """Make an environment with a wheel, its dependencies and further requirements; return its interpreter.

    Args:
        side: the side of the environment.
        wheel: the wheel to install.
        workshop: folder and options.
        like: the other side's versions, which the dependencies get too where pip can install them together.

    Raises:
        NotBuilt: pip cannot install the wheel.
        OutOfTime: pip takes too long.
    """
    folder = workshop.room / f"arm-{side}"
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    workshop.tell(f"{side} {wheel.asked!r}: installing")
    wanted = ["--", str(wheel.path), *workshop.options.requirements]
    install = ["--python", str(folder / "bin" / "python"), "install", "--no-warn-script-location"]
    if like:
        pins = workshop.room / f"pins-{side}.txt"
        rest = (pin for pin in like.items() if pin[0] != normalised(wheel.distribution))
        pins.write_text("".join(f"{name}=={version}\n" for name, version in rest), encoding="utf-8")
        try:
            run_pip("install", [*install, "--constraint", str(pins), *wanted], side, wheel.asked, workshop)
        except NotBuilt:  # the head may change these very dependencies
            workshop.tell(f"{side} {wheel.asked!r}: does not install with the other side's versions; trying without")
        else:
            return folder / "bin" / "python"
    run_pip("install", [*install, *wanted], side, wheel.asked, workshop)
    return folder / "bin" / "python"


def contents(side: Side, asked: str, python: Path) -> Contents:
    """Ask an interpreter for its version and distributions; raise ``InputError`` where it does not answer."""

    def read(answer: Any) -> Contents:
        version, installed = answer
        # Python imports the first of two on the search path.
        return Contents(str(version), {normalised(str(name)): str(number) for name, number in reversed(installed)})

    return ask(side, asked, (python, _SAY_CONTENTS), read, "its Python does not run; make it again")


# An editable install lists none of its modules. Then they come from top_level.txt or the distribution's name, else from
# the folder that the installer has noted (PEP 610). Several distributions share the folder of a namespace: there,
# only the files that this one lists count.
_SAY_ORIGINS = """
import importlib.metadata, importlib.util, json, os, sys

found = importlib.metadata.distribution(sys.argv[1])
listed = {file.parts[0].partition(".")[0] for file in found.files or () if file.suffix in (".py", ".so")}
names = {name for name in listed if not name.startswith(("__", "_editable"))}
names |= {*(found.read_text("top_level.txt") or "").split()}
names = names or {found.name.replace("-", "_"), found.name.replace("-", "_").lower()}
places = set()
for name in names - {*getattr(sys, 'stdlib_module_names', ())}:
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        continue
    if spec is not None and spec.has_location:
        places.add(spec.origin)
    elif spec is not None:
        own = [file for file in found.files or () if file.parts[0] == name and file.suffix in (".py", ".so")]
        places |= {*map(found.locate_file, own)} or {*(spec.submodule_search_locations or ())}
noted = json.loads(found.read_text("direct_url.json") or "{}")
places = {*map(os.path.realpath, places)}
if not places and noted.get("dir_info", {}).get("editable"):
    places = {noted["url"]}
print(json.dumps(sorted(places)))
"""


def check_different(pythons: Mapping[Side, Path], asked: Mapping[Side, str], library: str) -> None:
    """Raise ``InputError`` where all files of ``library`` on one side are also the other's."""
    base, head = (_places(side, pythons[side], asked[side], library) for side in SIDES)
    shared = base & head
    if shared and shared in (base, head):  # sides may share one module if each has files of its own
        raise InputError(
            f"--base {asked['base']!r} and --head {asked['head']!r} have the same files on both sides: {library} is "
            f"{min(shared)} in both; install a wheel of each version, or give one name twice to compare it with itself"
        )


def _places(side: Side, python: Path, asked: str, library: str) -> frozenset[str]:
    def read(answer: Any) -> frozenset[str]:
        return frozenset(map(str, answer))

    return ask(side, asked, (python, _SAY_ORIGINS, library), read, f"it does not say where {library} is")
