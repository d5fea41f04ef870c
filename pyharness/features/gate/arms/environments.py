"""Environments of the two sides: paths of one length, the same versions of all but what is under test."""

from __future__ import annotations

import re
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms import interpreters
from pyharness.features.gate.building import NotBuilt, Workshop, run_pip
from pyharness.features.gate.sources import Installed, Wheel
from pyharness.features.gate.types import Side

_SAY = (
    "import importlib.metadata, json, sys\n"
    "print(json.dumps(['%s %d.%d' % (sys.implementation.name, *sys.version_info[:2]),"
    " [(one.name, one.version) for one in importlib.metadata.distributions() if one.name]]))"
)
Libraries = Mapping[str, str]  # versions of installed distributions, by normalised name


@dataclass(frozen=True, slots=True)
class Contents:
    """What an environment has."""

    python: str  # implementation and version, without the last number
    libraries: Libraries


def normalised(distribution: str) -> str:
    """Write the name of a distribution as indexes do (PEP 503).

    >>> normalised("Scikit_Build.Core")
    'scikit-build-core'
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()


def given(side: Side, source: Installed, workshop: Workshop) -> Path:
    """Interpreter of an environment that somebody has made, by a path as long as the other side's."""
    link = workshop.room / f"arm-{side}"
    link.symlink_to(source.folder, target_is_directory=True)  # Python looks for its environment where it is called
    return link / "bin" / "python"


def fresh(
    side: Side, wheel: Wheel, workshop: Workshop, *, like: Libraries | None = None, requirements: Sequence[str] = ()
) -> Path:
    """Make an environment with a wheel, its dependencies and requirements; returns its interpreter.

    Args:
        side: whose it is.
        wheel: what is installed.
        workshop: where, and how.
        like: versions of dependencies that it gets, too, if they can be had together.
        requirements: what is installed besides.

    Raises:
        NotBuilt: pip cannot install it.
        OutOfTime: it takes too long.
    """
    folder = workshop.room / f"arm-{side}"
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    workshop.tell(f"{side} {wheel.asked!r}: installing")
    wanted = ["--", str(wheel.path), *requirements]
    install = ["--python", str(folder / "bin" / "python"), "install", "--no-warn-script-location"]
    if like:
        pins = workshop.room / f"pins-{side}.txt"
        rest = (pin for pin in like.items() if pin[0] != normalised(wheel.distribution))
        pins.write_text("".join(f"{name}=={version}\n" for name, version in rest), encoding="utf-8")
        try:
            _install([*install, "--constraint", str(pins), *wanted], side, wheel, workshop)
        except NotBuilt:  # other dependencies may be just what the head changes
            workshop.tell(f"{side} {wheel.asked!r}: does not install with the other side's versions; installing freely")
        else:
            return folder / "bin" / "python"
    _install([*install, *wanted], side, wheel, workshop)
    return folder / "bin" / "python"


def _install(arguments: Sequence[str], side: Side, wheel: Wheel, workshop: Workshop) -> None:
    run_pip("install", arguments, side, wheel.asked, workshop)


def contents(side: Side, asked: str, python: Path) -> Contents:
    """Ask an interpreter what it has; raises ``InputError`` where it does not answer."""

    def read(answer: Any) -> Contents:
        version, installed = answer
        # Of two on the search path the first is imported.
        return Contents(str(version), {normalised(str(name)): str(number) for name, number in reversed(installed)})

    return interpreters.said(side, asked, (python, _SAY), read, "its Python does not run; make it again")
