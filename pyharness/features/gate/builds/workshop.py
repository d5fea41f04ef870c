"""Builds the wheel of a revision, whose code runs meanwhile and gets only variables that are allowed or passed.

It still runs as this user and can read this user's files: build strangers' code in a job without secret files.
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
from pyharness.system import folders, program

FEWEST_MASKED = 8  # characters of a value to replace: 1 or "true" is no secret, and occurs everywhere
LONGEST = 300  # characters of a line
LOG_BYTES = 4 << 20  # of the end of a log that are read; of the beginning of a far too long one that are kept
_COMPILER = re.compile(r":\d+(:\d+)?: (fatal )?error: |^CMake Error|^error(\[E\d+\])?: (?![a-z]+(-[a-z]+)+$)")
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
    """Return the most informative line: the compiler's first error, else the last that mentions one, else the last.

    ``passed``: variables whose values the line shows as their names, since other people read it.
    """
    lines = [_FRAME.sub("", line).strip() for line in log.splitlines()]
    lines = [line for line in lines if line and not _OF_PIP.search(line)]
    compiler = [line for line in lines if _COMPILER.search(line)]
    errors = [line for line in lines if _ERROR.search(line)]
    chosen = compiler[:1] or errors[-1:] or lines[-1:]
    return _hide_values(chosen[0], passed) if chosen else ""


def _hide_values(line: str, passed: Mapping[str, str] | None) -> str:
    """Replace values before cutting the line, because a cut value would not match."""
    words = [(word.strip(), name) for name, value in (passed or {}).items() for word in (value, *value.splitlines())]
    for word, name in sorted(words, key=lambda one: -len(one[0])):
        line = line.replace(word, f"${name}") if len(word) >= FEWEST_MASKED else line
    return line[:LONGEST]


def missing(log: str, passed: Mapping[str, str] | None = None) -> str:
    """Say that packages could not be fetched; "" for any other cause. ``passed``: as in ``telling``."""
    absent = _NOT_FOUND.findall(log)
    shown = _hide_values(absent[-1], passed) if absent else ""
    if _OFFLINE.search(log):
        return f"packages cannot be fetched, for lack of a network ({shown or telling(log, passed)})"
    return shown


PIP = (sys.executable, "-P", "-m", "pip")
Step: TypeAlias = Literal["build", "install"]
# Bytes of memory for pip: it keeps a build's whole output. Old versions hold downloads in memory, too.
MOST_HELD: dict[Step, int] = {"build": 1 << 30, "install": 4 << 30}
INSTALLED = "where they are installed, --no-build-isolation builds with what is here"


class NotBuilt(Exception):
    """An arm does not build or install: the message has the side, the most informative line, and the log's path."""

    def __init__(self, side: Side, source: str, what: str, reason: str, log: Path) -> None:
        super().__init__(f"{side} {source!r} {what}: {reason or 'no reason given'}; the log is {log}")
        self.side = side
        self.log = log


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The user's options for making arms."""

    library: str | None = None  # distribution under test; None: that of the wheels, or the one that differs
    requirements: tuple[str, ...] = ()  # further packages for the arms; never installed into given environments
    isolated: bool = True  # pip fetches build requirements, instead of using the installed ones
    cache: bool = True  # reuse wheels of the last 24 hours
    separate: bool = False  # two builds although both sides are one revision, without the cache
    passed: tuple[str, ...] = ()  # names of further variables for builds and installs


@dataclass(frozen=True, slots=True)
class Workshop:
    """Folder, options and listener for making arms."""

    room: Path  # the session's folder; both sides have paths of the same length in it
    tell: Callable[[str], object]
    options: BuildOptions = field(default_factory=BuildOptions)
    passed: Mapping[str, str] = field(default_factory=dict)  # further variables of builds, named by the user

    def variables(self) -> dict[str, str]:
        """Return all variables of a build, except its temporary folder."""
        return {**variables.for_building(os.environ), **self.passed}

    def key(self, source: Revision) -> str:
        """Return the cache key of a revision's wheel."""
        return wheel_cache.key(source, self.variables(), isolated=self.options.isolated)

    def log(self, side: Side, step: Step | Literal["export"]) -> Path:
        """Return the log file of a step, in a new or existing folder; it outlives the session's folder.

        Raises:
            InputError: the folder cannot be made.
        """
        logs = wheel_cache.folder() / "logs"
        with folders.caching("logs", logs):
            logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        return logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{side}-{step}.log"


def export(side: Side, source: Revision, workshop: Workshop) -> Path:
    """Copy a revision's files into the session's folder, unless already done; return the project's folder.

    Raises:
        NotBuilt: git cannot export the files, or they change meanwhile.
        InputError: git does not answer.
        OutOfTime: the export takes too long (``program.until``).
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
    """Return a revision's cached wheel of the last 24 hours; None without one, or if the cache is not used."""
    cached = workshop.options.cache and not workshop.options.separate
    return wheel_cache.find(workshop.key(source)) if cached else None


def wheel_of(side: Side, source: Revision, workshop: Workshop) -> Path:
    """Build a wheel in the session's folder, or take it from the cache.

    Raises:
        NotBuilt: the revision cannot be read, or its build fails.
        OutOfTime: the build takes too long.
    """
    made = workshop.room / f"wheel-{side}"
    made.mkdir()
    cached = kept(source, workshop)
    workshop.tell(
        f"{side} {source.asked!r} ({source.version[:12]}): {'building' if cached is None else 'built already'}"
    )
    if cached is not None:
        return Path(shutil.copy(cached, made))
    wheel = _build(side, source, workshop, made)
    if workshop.options.cache and not workshop.options.separate:
        wheel_cache.keep(workshop.key(source), wheel)
    return wheel


def _build(side: Side, source: Revision, workshop: Workshop, made: Path) -> Path:
    project = export(side, source, workshop)
    command = ["wheel", "--no-deps", *(() if workshop.options.isolated else ("--no-build-isolation",))]
    log = run_pip("build", [*command, "--wheel-dir", str(made), str(project)], side, source.asked, workshop)
    shutil.rmtree(workshop.room / f"tree-{side}", ignore_errors=True)  # free disk space for the other side's
    left = sorted(made.glob("*.whl"))
    if len(left) != 1:
        count = f"{len(left)} wheels" if left else "no wheel"
        raise NotBuilt(side, source.asked, "does not build", f"it leaves {count}", log)
    return left[0]


def run_pip(step: Step, arguments: Sequence[str], side: Side, asked: str, workshop: Workshop) -> Path:
    """Run pip with the variables of a build; return its log file.

    Raises:
        NotBuilt: pip fails (the message quotes the log), or writes or holds too much.
        OutOfTime: pip took too long, and was ended together with its compilers.
    """
    begun, log, temporary = time.monotonic(), workshop.log(side, step), workshop.room / "temporary"
    temporary.mkdir(exist_ok=True)  # pip leaves its files there when it is ended
    try:
        environment = {**workshop.variables(), "TMPDIR": str(temporary)}
        ran = program.run([*PIP, *arguments], environment, folder=log.parent, log=log, memory=MOST_HELD[step])
    except program.OutOfTime:
        what, took = "built" if step == "build" else "installed", time.monotonic() - begun
        raise program.OutOfTime(
            f"time ran out while {side} {asked!r} was {what}: ended after {took:.0f} s{_name_limit(took)}; its log "
            f"is {log}"
        ) from None
    except program.SaidTooMuch as ended:
        os.truncate(log, min(log.stat().st_size, LOG_BYTES))
        text = f"pip {ended.how}; it keeps and shows what the build says"
        raise NotBuilt(side, asked, f"does not {step}", text, log) from None
    if ran.status == 0:
        return log
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_BYTES))
        text = file.read().decode(errors="replace")
    lacking = missing(text, workshop.passed)
    if lacking and step == "build":
        lacking += f"; {INSTALLED}"
    raise NotBuilt(side, asked, f"does not {step}", lacking or telling(text, workshop.passed), log)


def _name_limit(took: float) -> str:
    """Name the default limit if a build ran into it; "" for a shorter limit."""
    longest = program.LONGEST_SECONDS
    return f", the limit of {longest / 60:.0f} minutes" if took >= longest else ""
