"""compute-sanitizer over our own kernels alone, and which of the races that it finds are meant.

usage: PYTHONPATH=bench python -m device.hazards memcheck|racecheck COMMAND...

The libraries' kernels are left out: CUB's own races are reported too (NVIDIA/cccl#1906), and they take time. Options
are spelt differently in every few versions, so the program on the machine is asked for them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SANITIZER = "compute-sanitizer"
FOUND = 9  # its status when it has found something
OURS = "kns=pyharness"  # a part of the names of our kernels, which are in a namespace
# From the newest to the oldest. Calls of the driver that fail are no errors: libraries try some to see whether they do.
OPTIONS = (
    (("--kernel-regex", OURS), ("--kernel-name", OURS), ("--filter", OURS)),
    (("--report-api-errors", "no"),),
    (("--print-limit", "10000"),),
)
ANSWER_SECONDS = 60.0

# Where threads look at a slot in shared memory while another one's compare-and-swap, which decides, may be taking it.
# The machine code names the innermost line: that of the look itself, or of an atomic function in CUDA's own headers.
MEANT = ("ph_relaxed_load_shared", "BucketTable::add", "PairCache::add")
SOURCES = ("csrc/kernels/exec.hpp", "csrc/kernels/pairs/**/*.hpp")
ATOMIC = re.compile(r"(device|sm_\d+)_atomic_functions\.hp?p?")
ACCESS = re.compile(r"^=+ .*?(?P<race>Race reported between|and) (?P<kind>\w+) access at (?P<place>.*)$", re.MULTILINE)
LINE = re.compile(r" in (?P<file>[^ ]+?):(?P<line>\d+)\b")
TOO_MANY = "Maximum number of hazards reached"  # others were not reported


@dataclass(frozen=True, slots=True)
class Lines:
    """The body of a function."""

    file: str  # without folders: so the report names it
    first: int
    last: int


def judged(text: str, root: Path) -> tuple[int, list[str]]:
    """Return how many races a report of racecheck has, and those that are not meant, each in one line."""
    races: list[list[re.Match[str]]] = []
    for access in ACCESS.finditer(text):
        if access["race"] != "and":
            races.append([])
        if races:
            races[-1].append(access)
    lines = meant_lines(root)
    others = [race for race in races if len(race) < 2 or not all(_is_meant(access["place"], lines) for access in race)]
    said = ["; ".join(f"{access['kind']} at {access['place']}" for access in race) for race in others]
    return len(races), said + [TOO_MANY] * (TOO_MANY in text)


def _is_meant(place: str, lines: Sequence[Lines]) -> bool:
    found = LINE.search(place)
    if found is None:  # compiled without lines
        return False
    name, number = Path(found["file"]).name, int(found["line"])
    return ATOMIC.fullmatch(name) is not None or any(
        one.file == name and one.first <= number <= one.last for one in lines
    )


def meant_lines(root: Path) -> list[Lines]:
    """Return the lines of the functions in which a race is meant."""
    files = [path for pattern in SOURCES for path in sorted(root.glob(pattern))]
    found = (body_of(path, function) for path in files for function in MEANT)
    return [lines for lines in found if lines is not None]


def body_of(file: Path, function: str) -> Lines | None:
    """Return the lines of a function, or of a method of a class, if a file defines it."""
    text = file.read_text(encoding="utf-8")
    start = first = 0
    *classes, name = function.split("::")
    for pattern in (*(rf"\bclass {one} {{" for one in classes), rf"^.*\w \b{name}\([^;]*{{$"):
        found = re.compile(pattern, re.MULTILINE).search(text, start)
        if found is None:
            return None
        first, start = found.span()
    depth, at = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return Lines(file.name, text.count("\n", 0, first) + 1, text.count("\n", 0, at) + 1)


def options() -> list[str]:
    """Return the options that this machine's compute-sanitizer has."""
    try:
        done = subprocess.run(
            [SANITIZER, "--help"], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
        known = done.stdout + done.stderr
    except (OSError, subprocess.SubprocessError):
        known = ""
    chosen = (next((one for one in spellings if re.search(rf"{one[0]}(?![\w-])", known)), ()) for spellings in OPTIONS)
    return [word for option in chosen for word in option]


def main(arguments: Sequence[str]) -> None:
    """Become compute-sanitizer."""
    tool, *command = arguments
    call = [SANITIZER, "--tool", tool, "--error-exitcode", str(FOUND), *options(), *command]
    sys.stdout.write(f"{shlex.join(call)}\n")
    sys.stdout.flush()
    os.execvp(SANITIZER, call)  # noqa: S606 -- no shell is meant


if __name__ == "__main__":
    main(sys.argv[1:])
