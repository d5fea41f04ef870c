"""Scripts that ask others for the parts that are missing: Slurm, or GNU parallel."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from pyharness.features.parts.folder import in_ranges

ARRAY = 1000  # tasks of a Slurm array: by default no task has a higher number (MaxArraySize)


def slurm(folder: Path, missing: Sequence[int], at_once: int | None) -> str:
    """Return commands that submit arrays of at most 1,000 tasks; each adds the first part of its array."""
    lines = []
    for thousand, parts in groupby(missing, lambda part: part // ARRAY):
        tasks = in_ranges([part % ARRAY for part in parts]).replace(" ", "")
        limit = "" if at_once is None else f"%{at_once}"
        number = "$SLURM_ARRAY_TASK_ID" if not thousand else f"$(({thousand * ARRAY} + SLURM_ARRAY_TASK_ID))"
        task = f'pyharness work {_path(folder)} --part "{number}"'
        lines.append(f"sbatch --array={tasks}{limit} --chdir={_path(Path.cwd())} --wrap={shlex.quote(task)}")
    return _script(lines, folder)


def parallel(folder: Path, missing: Sequence[int], at_once: int | None) -> str:
    """Return one command that gives the numbers of the parts to GNU parallel."""
    jobs = "" if at_once is None else f" --jobs {at_once}"
    numbers = "\n".join(map(str, missing))
    task = f"pyharness work {_path(folder)} --part {{}}"
    line = f"cd {_path(Path.cwd())} && parallel{jobs} {shlex.quote(task)} <<'PARTS'\n{numbers}\nPARTS"
    return _script([line] if missing else [], folder)


SCRIPTS: Mapping[str, Callable[[Path, Sequence[int], int | None], str]] = {"slurm": slurm, "parallel": parallel}


def _path(path: Path) -> str:
    return shlex.quote(str(path.absolute()))


def _script(lines: Sequence[str], folder: Path) -> str:
    then = f"# then: pyharness merge {_path(folder)} -o record.json"
    return "\n".join(("#!/bin/sh", *(lines or ("# no part is missing",)), then)) + "\n"
