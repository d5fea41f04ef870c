"""Everything that a machine with a GPU is needed for, in stages that can be called one by one and resume.

  bench/gpu_check.sh                       all stages, in order, as far as the seconds of this call go
  bench/gpu_check.sh                       the same call again goes on with what is left
  bench/gpu_check.sh profile entropy bf16  one stage, or part of one
  bench/gpu_check.sh --dry-run             every stage up to the device; needs none

stages: build, instructions (per element, from the machine code), smoke (every kernel against the CPU), test [FILE],
memcheck [KERNEL], profile [KERNEL [DTYPE]], racecheck [KERNEL], ncu [KERNEL], summary (only writes it anew)

A part that passed or failed is not run again until a source that it reads has changed, or with --force; one that ran
out of time is, after those that have not been tried. A stage builds first what is not built. The folder of --work keeps
everything; the folder of --out gets, after every part, summary.md, summary.json, results.zip (logs, records) and the
wheel, whole. A fresh machine goes on where another one ended if results.zip and the wheel lie in either folder.

Exit status: 0 all passed, 1 a part failed, 2 nothing could be run, 3 parts are left: call again.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from device import building, machine, results
from device.checking import Check, say
from device.rehearsal import rehearse
from device.stages import Part, Place, parts

ROOT = Path(__file__).resolve().parents[2]
WORK = Path("build", "gpu_check")
CALL_SECONDS = 570.0  # of the ten minutes that a command may take on machines that are lent
NO_DEVICE = """\
gpu_check: no GPU here: nvidia-smi is missing or lists none. Nothing was built.
Not checked: the tests marked `cuda`, compute-sanitizer (memcheck, racecheck), every rate in `pyharness profile`.
Checked without a GPU by `python -m pytest`: the same kernels on the emulator, under AddressSanitizer and
ThreadSanitizer; that they compile without spills; instructions per element (bench/device/check_sass).
How far each stage would come: bench/gpu_check.sh --dry-run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    asked = _parser().parse_args(arguments)
    place = Place(ROOT, asked.work.resolve(), sys.executable)
    known = parts(place)
    wanted = [part for part in known if part.words[: len(asked.stage)] == tuple(asked.stage)]
    if not wanted and asked.stage != ["summary"]:
        return _refused(f"no part {' '.join(asked.stage)!r}; there are: {_names(known, asked.stage[0])}")
    device = machine.device()
    if asked.dry_run:
        return _refused(line) if (line := building.refusal(ROOT)) else rehearse(place, wanted, device)
    if device is None and any(part.on_device for part in wanted):
        return _refused(NO_DEVICE)
    if device is not None and not device.runs_the_kernels:
        return _refused(f"gpu_check: {device}: the kernels need compute capability 8.0 or more. Nothing was built.")
    place.results.mkdir(parents=True, exist_ok=True)
    with (place.work / "lock").open("w") as lock:
        if not _locked(lock):
            return _refused(f"another check runs in {place.work}")
        out = asked.out or place.work
        if line := results.bring_back(place, (place.work, out)):
            say(line)
        check = Check(place, known, out, device, time.monotonic() + asked.seconds)
        if asked.stage == ["summary"]:
            check.deliver()
            return 0
        if check.builds(wanted, asked.force) and (line := building.refusal(ROOT, machine.lacking(known[0], place))):
            return _refused(line)
        say(f"{device or 'no device'}; results in {check.out}")
        return check.run(wanted, asked.force)


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("gpu_check.sh", description=__doc__, formatter_class=formatter)
    parser.add_argument("stage", nargs="*", help="a stage, and what of it [all]")
    parser.add_argument("--dry-run", action="store_true", help="say of every stage how far it comes")
    parser.add_argument("--force", action="store_true", help="run again what is done")
    parser.add_argument("--seconds", type=float, default=CALL_SECONDS, help="of this call [%(default)g]")
    out = Path(os.environ["OUT"]) if os.environ.get("OUT") else None
    parser.add_argument("--out", type=Path, default=out, help="folder for what is taken home [$OUT, else --work]")
    parser.add_argument("--work", type=Path, default=ROOT / WORK, help=f"folder that is kept between calls [{WORK}]")
    return parser


def _names(known: Sequence[Part], stage: str) -> str:
    of_stage = [" ".join(part.words) for part in known if part.stage == stage]
    return ", ".join(of_stage or [*dict.fromkeys(part.stage for part in known), "summary"])


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _refused(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
