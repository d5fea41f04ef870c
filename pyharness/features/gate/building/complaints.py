"""What the log of a build that failed says: pip's own last lines say that it failed, and rarely why."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
