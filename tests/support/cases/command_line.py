"""pyharness called as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUN = [sys.executable, "-P", "-m", "pyharness"]


QUICK = ("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression")


def call(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYHARNESS_DATA"} | variables
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=environment, encoding="utf-8"
    )


def refused(*arguments: str, cwd: Path | None = None, **variables: str) -> str:
    done = call(*arguments, cwd=cwd, **variables)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
