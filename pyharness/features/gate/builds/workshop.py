"""A wheel of a revision. Building runs the revision's code: it gets an allow-list of variables, and no secrets.

It runs as this user all the same, who can read this user's files; a job that builds strangers' code has none to lose.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pyharness.features.gate.builds import variables, wheel_cache
from pyharness.features.gate.builds.checkouts import GitFailed
from pyharness.features.gate.builds.names import Revision
from pyharness.features.gate.types import Side
from pyharness.system import program
from pyharness.types import InputError

FEWEST_MASKED = 8  # characters of a value that is replaced: 1 or "true" is no secret, and stands everywhere
LONGEST = 300  # characters of a line
LOG_BYTES = 4 << 20  # of the end of a log
_COMPILER = re.compile(r":\d+(:\d+)?: (fatal )?error: |^CMake Error|^error(\[E\d+\])?: (?!subprocess-exited)")
_ERROR = re.compile(r"error|exception|no module|not found|cannot|could not|failed|unsupported", re.IGNORECASE)
_FRAME = re.compile(r"^[\s│╰─>×]+")
_OF_PIP = re.compile(
    r"subprocess-exited-with-error|did not run successfully|^exit code: |^Failed (building|to build)|^\[end of output\]"
    r"|^note: |^hint: |^\[notice\]|^ERROR: Failed (building|to build)|^(error|ERROR): metadata-generation-failed"
    r"|^See above for output|^Encountered error while|^ERROR: ResolutionImpossible"
)
_OFFLINE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError|Failed to establish a new connection"
    r"|Temporary failure in name resolution|Name or service not known|Network is unreachable"
)
_NOT_FOUND = re.compile(r"No matching distribution found for .*|Could not find a version that satisfies .*")


def telling(log: str, passed: Mapping[str, str] | None = None) -> str:
    """Return the line that tells most: the compiler's first error, else the last that speaks of one, else the last.

    ``passed``: variables whose values are replaced by their names in it, since the line goes where others read it.
    """
    lines = [_FRAME.sub("", line).strip() for line in log.splitlines()]
    lines = [line for line in lines if line and not _OF_PIP.search(line)]
    compiler = [line for line in lines if _COMPILER.search(line)]
    errors = [line for line in lines if _ERROR.search(line)]
    chosen = compiler[:1] or errors[-1:] or lines[-1:]
    return _shown(chosen[0], passed) if chosen else ""


def _shown(line: str, passed: Mapping[str, str] | None) -> str:
    """Replace values before the line is cut: a part of one would not be found."""
    words = [(word.strip(), name) for name, value in (passed or {}).items() for word in (value, *value.splitlines())]
    for word, name in sorted(words, key=lambda one: -len(one[0])):
        line = line.replace(word, f"${name}") if len(word) >= FEWEST_MASKED else line
    return line[:LONGEST]


def missing(log: str, passed: Mapping[str, str] | None = None) -> str:
    """Say that packages could not be fetched, where that is why; "" where it is not. ``passed``: as in ``telling``."""
    absent = _NOT_FOUND.findall(log)
    shown = _shown(absent[-1], passed) if absent else ""
    if _OFFLINE.search(log):
        return f"packages cannot be fetched, for lack of a network ({shown or telling(log, passed)})"
    return shown


PIP = (sys.executable, "-P", "-m", "pip")
Step: TypeAlias = Literal["build", "install"]
# Bytes that pip may hold: it keeps all that a build says. An old one has what it downloads in memory, too.
MOST_HELD: dict[Step, int] = {"build": 1 << 30, "install": 4 << 30}
INSTALLED = "where they are installed, --no-build-isolation builds with what is here"


class NotBuilt(Exception):
    """An arm does not build or install: the message has the side, the line of the log that tells most, and the log."""

    def __init__(self, side: Side, source: str, what: str, said: str, log: Path) -> None:
        super().__init__(f"{side} {source!r} {what}: {said or 'it does not say why'}; all that was said is in {log}")
        self.side = side
        self.log = log


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How somebody wants arms to be made."""

    library: str | None = None  # distribution under test; None: that of the wheels, or what two environments differ in
    requirements: tuple[str, ...] = ()  # what arms need besides; never put into environments that were given
    isolated: bool = True  # build requirements are fetched by pip, and not those that are installed here
    cache: bool = True  # wheels that were built today are used again
    separate: bool = False  # two builds, although both sides are one revision; none is from the cache
    passed: tuple[str, ...] = ()  # names of further variables that builds and installs get


@dataclass(frozen=True, slots=True)
class Workshop:
    """How arms are made: where, and what is told of it."""

    room: Path  # a folder for the session; both sides have paths of the same length in it
    tell: Callable[[str], object]
    options: BuildOptions = field(default_factory=BuildOptions)
    passed: Mapping[str, str] = field(default_factory=dict)  # further variables of builds, which somebody has named

    def variables(self) -> dict[str, str]:
        """All that a build gets, but the folder for what it writes for a while."""
        return {**variables.for_building(os.environ), **self.passed}

    def key(self, source: Revision) -> str:
        """Digest of all that decides which wheel a build makes."""
        return wheel_cache.key(source, self.variables(), isolated=self.options.isolated)

    def log(self, side: Side, step: Step | Literal["export"]) -> Path:
        """Name a file for what a step says, which stays when the session's folder goes."""
        logs = wheel_cache.folder() / "logs"
        try:
            logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InputError(
                f"cannot keep logs in {str(logs)!r}: {error.strerror}; name a folder in PYHARNESS_CACHE"
            ) from None
        return logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{side}-{step}.log"


def export(side: Side, source: Revision, workshop: Workshop) -> Path:
    """Copy the files of a revision into the session's folder, unless they are there; returns the project's folder.

    Raises:
        NotBuilt: they cannot be had.
        OutOfTime: not in time (``program.until``).
    """
    tree = workshop.room / f"tree-{side}"
    if tree.exists():
        return tree / source.checkout.project
    try:
        project = source.checkout.export(source.commit, tree, changed=bool(source.changes))
        if source.now() != source:
            raise GitFailed("files were changed while they were copied; try again")
    except program.OutOfTime as ended:
        raise program.OutOfTime(f"time ran out while {side} {source.asked!r} was exported: {ended}") from None
    except (GitFailed, OSError) as failure:
        log = workshop.log(side, "export")
        log.write_text(f"{failure}\n", encoding="utf-8", errors="replace")
        raise NotBuilt(side, source.asked, "cannot be exported", str(failure), log) from None
    return project


def kept(source: Revision, workshop: Workshop) -> Path | None:
    """Return the wheel of a revision that was built today; None where there is none."""
    cached = workshop.options.cache and not workshop.options.separate
    return wheel_cache.find(workshop.key(source)) if cached else None


def wheel_of(side: Side, source: Revision, workshop: Workshop) -> Path:
    """Return a wheel in the session's folder, built or from the cache.

    Raises:
        NotBuilt: the revision cannot be read, or its build fails.
        OutOfTime: it takes too long.
    """
    made = workshop.room / f"wheel-{side}"
    made.mkdir()
    found = kept(source, workshop)
    workshop.tell(
        f"{side} {source.asked!r} ({source.version[:12]}): {'building' if found is None else 'built already'}"
    )
    if found is not None:
        return Path(shutil.copy(found, made))
    wheel = _build(side, source, workshop, made)
    if workshop.options.cache and not workshop.options.separate:
        wheel_cache.keep(workshop.key(source), wheel)
    return wheel


def _build(side: Side, source: Revision, workshop: Workshop, made: Path) -> Path:
    project = export(side, source, workshop)
    command = ["wheel", "--no-deps", *(() if workshop.options.isolated else ("--no-build-isolation",))]
    log = run_pip("build", [*command, "--wheel-dir", str(made), str(project)], side, source.asked, workshop)
    shutil.rmtree(workshop.room / f"tree-{side}", ignore_errors=True)  # room for the other side's
    left = sorted(made.glob("*.whl"))
    if len(left) != 1:
        count = f"{len(left)} wheels" if left else "no wheel"
        raise NotBuilt(side, source.asked, "does not build", f"it leaves {count}", log)
    return left[0]


def run_pip(step: Step, arguments: Sequence[str], side: Side, asked: str, workshop: Workshop) -> Path:
    """Run pip with allow-listed variables; returns the file with what it said.

    Raises:
        NotBuilt: it fails; with what the log tells.
        OutOfTime: it was ended, with the compilers behind it.
    """
    begun, log, temporary = time.monotonic(), workshop.log(side, step), workshop.room / "temporary"
    temporary.mkdir(exist_ok=True)  # pip that is ended leaves what it has there
    try:
        environment = {**workshop.variables(), "TMPDIR": str(temporary)}
        ran = program.run([*PIP, *arguments], environment, folder=log.parent, log=log, memory=MOST_HELD[step])
    except program.OutOfTime:
        what, took = "built" if step == "build" else "installed", time.monotonic() - begun
        raise program.OutOfTime(
            f"time ran out while {side} {asked!r} was {what}: ended after {took:.0f} s{_limited(took)}; what was said "
            f"until then is in {log}"
        ) from None
    except program.SaidTooMuch as ended:
        os.truncate(log, min(log.stat().st_size, LOG_BYTES))
        said = f"pip {ended.how}; it keeps and shows what the build says"
        raise NotBuilt(side, asked, f"does not {step}", said, log) from None
    if ran.status == 0:
        return log
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_BYTES))
        said = file.read().decode(errors="replace")
    lacking = missing(said, workshop.passed)
    if lacking and step == "build":
        lacking += f"; {INSTALLED}"
    raise NotBuilt(side, asked, f"does not {step}", lacking or telling(said, workshop.passed), log)


def _limited(took: float) -> str:
    """Say which limit it was that nobody has set."""
    longest = program.LONGEST_SECONDS
    return f", the {longest / 60:.0f} minutes that anything gets" if took >= longest else ""
