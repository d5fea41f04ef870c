"""What a process may read of the one that has started it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

PR_CAPBSET_DROP = 24  # prctl(2)
CAPABILITIES = {
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_PERFMON": 38,
}  # capabilities(7): these read all
LOOKING = """
import subprocess, sys
from pyharness.system import lifeline

READ = "import os; print(b'SECRET' in open(f'/proc/{os.getppid()}/environ', 'rb').read())"

def look():
    done = subprocess.run([sys.executable, "-S", "-c", READ], capture_output=True, text=True)
    print((done.stdout or done.stderr).strip().splitlines()[-1])

look()
with lifeline.unreadable():
    look()
look()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has it")
def test_variables_cannot_be_read_while_it_lasts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOKING],
        env={"SECRET": "s"},
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=_like_others if os.geteuid() == 0 else None,
    )
    before, during, after = done.stdout.splitlines()
    assert (before, after) == ("True", "True")
    assert during.startswith("PermissionError")


def _like_others() -> None:
    """Give up what lets root read everything."""
    for one in CAPABILITIES.values():
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, one, 0, 0, 0)
