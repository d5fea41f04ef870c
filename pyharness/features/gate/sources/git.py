"""The one way to ask git: no program runs that a checkout's own configuration names.

A stranger may have written it. What the user's own names (``~/.gitconfig``: a filter of LFS, say) runs, but for hooks.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from pyharness.features.gate.sources import variables
from pyharness.system import program
from pyharness.types import InputError

QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "core.alternateRefsCommand=false"),
    *("-c", "advice.detachedHead=false", "-c", "core.quotePath=false", "--no-pager"),
)
# A partial clone fetches what it lacks, with programs that it names: no protocol is allowed. The index is not written.
ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
ANSWER_SECONDS = 30.0  # for what is at hand: git waits for ever for the other end of a FIFO in its folder
# What goes through all files may take longer; what writes them, as long as anything.
LONGER: Mapping[str, float] = {
    **dict.fromkeys(("status", "diff", "ls-files"), 300.0),
    **dict.fromkeys(("checkout", "update-ref"), program.LONGEST_SECONDS),
}
_FILTER = re.compile(rb"filter\..*\.(clean|smudge|process|required)", re.DOTALL)


class GitFailed(InputError):
    """What git complains of."""


def ask(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git in a folder, and return what it writes.

    Raises:
        GitFailed: it complains.
        InputError: it does not answer.
        OutOfTime: not in time (``program.until``).
    """
    return _ran(folder, arguments, given, {})


def ask_of_files(folder: Path, *arguments: str) -> bytes:
    """Run a command of git that compares files with what is committed, for which filters would run."""
    return _ran(folder, arguments, b"", _without_filters(folder))


def _ran(folder: Path, arguments: tuple[str, ...], given: bytes, further: Mapping[str, str]) -> bytes:
    # No GIT_DIR, as hooks have it: it would name another repository. Complaints are looked into: in English.
    environment = {**variables.for_building(os.environ), "LC_ALL": "C.UTF-8", **ALONE, **further}
    command, longest, begun = arguments[0], LONGER.get(arguments[0], ANSWER_SECONDS), time.monotonic()
    try:
        ran = program.run(["git", *QUIET, "-C", str(folder), *arguments], environment, given=given, seconds=longest)
    except program.OutOfTime:
        if time.monotonic() - begun < longest:  # it was not this limit
            raise
        raise InputError(
            f"git {command} does not answer in {str(folder)!r} within {longest:.0f} s; look for what is neither file "
            "nor folder: find .git -type p"
        ) from None
    if ran.status != 0:
        lines = [line for line in ran.complaints.splitlines() if line.strip()]
        said = lines[-1] if lines else f"it ended with status {ran.status}"
        raise GitFailed(f"git {command} fails in {str(folder)!r}: {said}")
    return ran.output


def _without_filters(folder: Path) -> dict[str, str]:
    """Return variables that undo the filters of a checkout's configuration (git-config(1): GIT_CONFIG_COUNT)."""
    listed = ask(folder, "config", "--list", "--name-only", "--show-scope", "-z").split(b"\0")
    own = {key for scope, key in zip(listed[::2], listed[1::2], strict=False) if scope in (b"local", b"worktree")}
    settings = {"GIT_CONFIG_COUNT": "0"}
    for number, key in enumerate(sorted(filter(_FILTER.fullmatch, own))):
        value = "false" if key.endswith(b".required") else ""
        settings |= {f"GIT_CONFIG_KEY_{number}": os.fsdecode(key), f"GIT_CONFIG_VALUE_{number}": value}
        settings["GIT_CONFIG_COUNT"] = str(number + 1)
    return settings
