"""Does a history find what was planted? Forty commits of a small package, measured by real gates.

    python studies/ranks/planted_history.py --folder /tmp/planted --output studies/results/planted_history.json.gz

The package is pure Python and builds in a second. Its commits are numbered from 0, which is the anchor:

    encode   5 % slower from commit 12 on, taken back at 26; another result from 38 on
    decode   0.4 % slower at each of the commits 20 to 31: 4.9 % in all
    18       does not build
    others   identical rebuilds: only a text and the version change

``--load N`` keeps N processes busy meanwhile. ``--nothing`` plants nothing: what is confirmed then is a false alarm.
docs/history.md "A planted slowdown, with real gates" has what the runs gave.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "support")]
from gating import small_project  # noqa: E402 -- the path above has it
from gating.small_project import git  # noqa: E402

COMMITS = 40
STEP, BACK = 12, 26
DRIFT = range(20, 32)
BROKEN, OTHER_IDS = 18, 38
COST = 3_000  # rounds of a hash: a loop of Python scatters by 4 % from process to process, these by 1 %
CODE = """
import hashlib


def spend(rounds):
    hashlib.pbkdf2_hmac("sha256", b"text", b"salt", rounds)


def encode(text):
    spend({encode})
    return [ord(one) + {shift} for one in text]


def decode(text):
    spend({decode})
    return [ord(one) for one in text]
"""
SUITE = """
name = "planted"
workloads = "workloads.py"
benchmarks = [
  { name = "encode", workload = "encode", bytes = 64 },
  { name = "decode", workload = "decode", bytes = 64 },
]
"""
WORKLOADS = """
class Workload:
    def __init__(self, call, digestible):
        self.call = call
        self.digestible = digestible


def _of(name):
    import tinytok

    return Workload(getattr(tinytok, name), lambda ids: str(ids).encode())


def encode(setting):
    return _of("encode")


def decode(setting):
    return _of("decode")
"""


def code_of(number: int, *, planted: bool = True) -> str:
    """Return the package's module at a commit."""
    step = 1.05 if planted and STEP <= number < BACK else 1.0
    drift = 1.004 ** sum(one <= number for one in DRIFT) if planted else 1.0
    shift = int(planted and number >= OTHER_IDS)
    return CODE.format(encode=round(COST * step), decode=round(COST * drift), shift=shift)


def written(folder: Path, *, planted: bool = True) -> list[str]:
    """Make the project, unless it is there from an interrupted run; return its commits."""
    if folder.exists():
        return git(folder, "log", "--format=%H", "--reverse", "main").split()
    folder.mkdir(parents=True)
    (folder / "gate.suite.toml").write_text(SUITE, encoding="utf-8")
    (folder / "workloads.py").write_text(WORKLOADS, encoding="utf-8")
    commits = []
    for number in range(COMMITS):
        broken = planted and number == BROKEN
        backend = "raise SystemExit('broken')\n" if broken else small_project.BACKEND
        code = code_of(number, planted=planted)
        small_project.write(folder, version=f"1.{number}", code=code, backend=backend)
        (folder / "NEWS").write_text(f"commit {number}\n", encoding="utf-8")
        commits.append(small_project.commit(folder, f"commit {number}"))
    return commits


@contextmanager
def loaded(count: int) -> Iterator[None]:
    """Keep processes busy."""
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def asked(folder: Path, log: list[dict[str, object]], *arguments: str) -> str:
    """Run ``pyharness history``; keep what it says, its status and its time."""
    begun = time.time()
    command = [sys.executable, "-m", "pyharness", "history", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds, said = round(time.time() - begun), done.stdout.replace(str(Path.home()), "~")
    log.append({"asked": list(arguments), "status": done.returncode, "seconds": seconds, "said": said})
    print(f"$ pyharness history {' '.join(arguments)}   # {seconds} s, status {done.returncode}", flush=True)  # noqa: T201
    print(done.stdout + (done.stderr if done.returncode == 2 else ""), flush=True)  # noqa: T201
    return done.stdout


def played(folder: Path, commits: Sequence[str], launches: int, log: list[dict[str, object]]) -> str:
    """Fill to just before the step is taken back, check and find; then the rest. Return all points as JSON."""
    gates = ["--suite", "gate.suite.toml", "--no-build-isolation"]
    filled = ["--anchor", commits[0], "--launches", str(launches), *gates]
    before = commits[BACK - 1]
    git(folder, "branch", "--force", "before", before)
    asked(folder, log, "fill", *filled, f"{commits[0]}..{before}", "--branch", "before")
    asked(folder, log, "check", "--confirm", *gates, "--branch", "before")
    asked(folder, log, "find", "encode", *gates, "--branch", "before")
    asked(folder, log, "fill", *filled, f"{commits[0]}..main")
    asked(folder, log, "check", "--confirm", *gates)
    asked(folder, log, "report")
    return asked_points(folder)


def asked_points(folder: Path) -> str:
    """Return all points of the history."""
    command = [sys.executable, "-m", "pyharness", "history", "report", "--format", "json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Play it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="of the project; an interrupted run goes on in it")
    parser.add_argument("--output", type=Path, help="what was asked and said, and all points, packed by gzip")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--load", type=int, default=0, help="processes that are kept busy")
    parser.add_argument("--nothing", action="store_true", help="plant nothing")
    given = parser.parse_args(arguments)
    commits = written(given.folder, planted=not given.nothing)
    log: list[dict[str, object]] = []
    with loaded(given.load):
        points = played(given.folder, commits, given.launches, log)
    if given.output is not None:
        data = {"commits": commits, "load": given.load, "nothing": given.nothing, "log": log,
                "points": json.loads(points)}  # fmt: skip
        given.output.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))


if __name__ == "__main__":
    main()
