"""pyharness called in this process, and as a program where a stream, a signal, a limit or a plug-in is meant."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner

from pyharness.cli import main

RUN = [sys.executable, "-P", "-m", "pyharness"]
QUICK = ("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression")

Done = subprocess.CompletedProcess[str]


def call(*arguments: str, cwd: Path | None = None, **variables: str) -> Done:
    """Call a command here; an exception that no user may see is the test's."""
    runner = CliRunner(env={"PYHARNESS_DATA": None, **variables})
    with contextlib.chdir(cwd or Path.cwd()):
        done = runner.invoke(main, arguments, prog_name="pyharness", catch_exceptions=False)
    return Done(arguments, done.exit_code, done.stdout, done.stderr)


def refused(*arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """What is said of a call that ends with exit status 2."""
    return said_of(call(*arguments, cwd=cwd, **variables))


def program(*arguments: str, cwd: Path | None = None, **variables: str) -> Done:
    """Run a command as a process of its own, for tests that are marked ``process``."""
    environment = {name: value for name, value in os.environ.items() if name != "PYHARNESS_DATA"} | variables
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=environment, encoding="utf-8"
    )


def with_plugin(folder: Path, module: str) -> dict[str, str]:
    """Variables of a process that finds a plug-in in ``folder``, and pyharness where this one finds it."""
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "PYHARNESS_PLUGINS": module}


def said_of(done: Done) -> str:
    """What a call that was refused wrote to standard error."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def completed(*words: str, run: Callable[..., Done] = call) -> list[str]:
    """Complete the last word as bash asks for it."""
    done = run(_PYHARNESS_COMPLETE="bash_complete", COMP_LINE=" ".join(("pyharness", *words)))
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]
