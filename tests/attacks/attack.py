"""Drives hostile inputs at the command line, and says which were not met with one clear line.

Each ``*.toml`` beside this file holds ``[[case]]`` tables. A case is run once for every combination of its ``each``:

- ``name``: what is attacked.
- ``command``: for bash, in a folder of its own with the files of ``arena.py``; ``pyharness`` is the command line, and
  ``$FORGE SOURCE TARGET CHANGE`` makes a hostile file of a good one (``forging.py``).
- ``each``: name -> list of texts. ``{name}`` in the command becomes the text, quoted; ``{=name}`` the text as it is.
- ``codes``: exit codes that are right (default 0 and 2).
- ``says``: a regular expression that standard error must match.
- ``after``: a bash command that must succeed afterwards, such as ``cmp kept.json record.json``.
- ``stderr_lines`` (default 10), ``memory_mb`` (default 1000: the largest process), ``seconds`` (default 60): bounds.
- ``only_root``: leave it out for other users; ``no_root``: for root.

Of every case it is checked, besides, that standard error has no traceback, that nothing stays in TMPDIR (unless it says
``keeps_temporary``) and that no process stays behind.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # run as a script under -P, too

import arena  # noqa: E402

LINGER_SECONDS = 3.0  # for processes that are ending
REMOVE = shutil.which("rm") or "rm"
BASH = shutil.which("bash") or "bash"
ENV = shutil.which("env") or "/usr/bin/env"
# What goes wrong must not fill the disk: 2 GiB.
PRELUDE = "ulimit -f 2097152\n"
MARK = "PYHARNESS_ATTACK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One command and what must come of it."""

    name: str
    command: str
    codes: tuple[int, ...] = (0, 2)
    says: str | None = None
    after: str | None = None
    stderr_lines: int = 10
    memory_mb: int = 1000
    seconds: float = 60.0
    only_root: bool = False
    no_root: bool = False
    keeps_temporary: bool = False


@dataclass(slots=True)
class Outcome:
    """What came of a case."""

    case: Case
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0
    memory_mb: float = 0.0
    stderr: str = ""


def cases(folder: Path = HERE) -> list[Case]:
    """Read every case of every file, each combination by itself."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))]
    return [case for table in tables for one in table["case"] for case in expanded(one)]


def expanded(table: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for every combination of its ``each``."""
    fixed: dict[str, Any] = {key: value for key, value in table.items() if key != "each"}
    if "codes" in fixed:
        fixed["codes"] = tuple(fixed["codes"])
    each: Mapping[str, list[str]] = table.get("each", {})
    for values in itertools.product(*each.values()):
        command, after = fixed["command"], fixed.get("after")
        for name, value in zip(each, values, strict=True):
            command = _filled(command, name, value)
            after = None if after is None else _filled(after, name, value)
        shown = " ".join([fixed["name"], *(value if len(value) <= 50 else f"{value[:47]}..." for value in values)])
        yield Case(**fixed | {"name": shown, "command": command, "after": after})


def _filled(text: str, name: str, value: str) -> str:
    return text.replace(f"{{={name}}}", value).replace(f"{{{name}}}", shlex.quote(value))


def attack(case: Case, stock: Path, folder: Path) -> Outcome:
    """Run one case in ``folder``, which it gets for itself, and judge what came of it."""
    place, temporary = folder / "arena", folder / "tmp"
    temporary.mkdir(parents=True)
    arena.build(place, stock)
    outcome = Outcome(case)
    environment = os.environ | {
        "PATH": f"{stock / arena.PROGRAMS}:{os.environ['PATH']}",
        "FORGE": shlex.join([sys.executable, "-P", str(HERE / "forging.py")]),
        "TMPDIR": str(temporary), MARK: str(folder), "PYHARNESS_CACHE": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "HOME": str(folder),
        "RUST_BACKTRACE": "0",  # a library that panics says so in three lines
    }  # fmt: skip
    status, outcome.memory_mb, outcome.seconds = _run(case, place, folder, environment)
    outcome.stderr = (folder / "stderr").read_bytes().decode(errors="replace")
    outcome.complaints = [*_judged(outcome, status), *_left(folder, temporary, case)]
    if case.after is not None:
        done = subprocess.run(
            [BASH, "-c", PRELUDE + case.after], cwd=place, env=environment, capture_output=True, check=False
        )
        if done.returncode:
            outcome.complaints.append(f"afterwards {case.after!r} gave {done.returncode}: {done.stderr.decode()[:300]}")
    return outcome


def _run(case: Case, place: Path, folder: Path, environment: Mapping[str, str]) -> tuple[int | None, float, float]:
    """Exit status (None: it took too long), peak memory of the largest process in MB, and seconds."""
    began = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            # A signal that is ignored, as under nohup, would be by the case: no shell can undo it.
            [ENV, "--default-signal", BASH, "-c", PRELUDE + case.command],
            cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
        )  # fmt: skip
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                process.returncode = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() - began > case.seconds:
                os.killpg(process.pid, signal.SIGKILL)
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = None
                break
            time.sleep(0.02)
    code = process.returncode
    return code, usage.ru_maxrss / 1024, time.monotonic() - began


def _judged(outcome: Outcome, status: int | None) -> Iterator[str]:
    case, lines = outcome.case, outcome.stderr.splitlines()
    if status is None:
        yield f"no end within {case.seconds:g} s"
    elif status not in case.codes:
        yield f"exit code {status}, not {' or '.join(map(str, case.codes))}"
    if "Traceback" in outcome.stderr:
        yield "a traceback"
    if len(lines) > case.stderr_lines:
        yield f"{len(lines)} lines on standard error, more than {case.stderr_lines}"
    if max(map(len, lines), default=0) > 4000:
        yield f"a line of {max(map(len, lines)):,} characters"
    if case.says is not None and not re.search(case.says, outcome.stderr):
        yield f"standard error does not say {case.says!r}"
    if outcome.memory_mb > case.memory_mb:
        yield f"{outcome.memory_mb:,.0f} MB, more than {case.memory_mb:,}"


def _left(folder: Path, temporary: Path, case: Case) -> Iterator[str]:
    until = time.monotonic() + LINGER_SECONDS
    while (living := _processes(folder)) and time.monotonic() < until:
        time.sleep(0.1)
    for process, command in living.items():
        yield f"process {process} lives on: {command[:100]}"
        os.kill(process, signal.SIGKILL)
    left = sorted(path.name for path in temporary.iterdir())
    if left and not case.keeps_temporary:
        yield f"left in TMPDIR: {', '.join(left[:5])}"


def _processes(folder: Path) -> dict[int, str]:
    """Processes that a case has started and that live, with their commands."""
    mark, found = f"{MARK}={folder}".encode(), dict[int, str]()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if command:  # a zombie has none
                    found[int(entry.name)] = command
        except OSError:
            continue
    return found


def _applies(case: Case) -> bool:
    return not (case.only_root and os.geteuid()) and not (case.no_root and not os.geteuid())


def main() -> int:
    """Run what the command line selects; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--match", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    parser.add_argument("--verbose", action="store_true", help="print what every case said")
    options = parser.parse_args()
    chosen = [case for case in cases() if re.search(options.match, case.name) and _applies(case)]
    if options.list:
        print(*(f"{case.name}\n    {case.command}" for case in chosen), sep="\n")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        stock = arena.make_stock(folder / "stock")
        with ThreadPoolExecutor(options.jobs) as pool:
            done = list(pool.map(lambda item: _reported(item, stock, folder, options.verbose), enumerate(chosen)))
    finally:
        _remove(folder)
    broken = [outcome for outcome in done if outcome.complaints]
    most = max(done, key=lambda outcome: outcome.memory_mb, default=None)
    print(f"attack: {len(done)} inputs, {len(broken)} not met as they should be", end="")
    print("" if most is None else f"; most memory {most.memory_mb:,.0f} MB ({most.case.name})")
    return 1 if broken else 0


def _remove(folder: Path) -> None:
    """Remove a folder that may be nested deeper than Python can call itself."""
    subprocess.run([REMOVE, "-rf", str(folder)], check=False)


def _reported(item: tuple[int, Case], stock: Path, folder: Path, verbose: bool) -> Outcome:
    number, case = item
    place = folder / str(number)
    try:
        outcome = attack(case, stock, place)
    finally:
        _remove(place)
    if outcome.complaints or verbose:
        said = "\n".join(f"    | {line[:200]}" for line in outcome.stderr.splitlines()[-4:])
        faults = "".join(f"\n  - {complaint}" for complaint in outcome.complaints)
        print(f"{case.name}\n    {case.command[:300]}{faults}\n{said}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
