"""An arm under valgrind, as its parent sees it: instructions of a batch, in place of its time.

They are nearly the same in every process, and blind: random and sequential access to memory take as many.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms.arm import Arm
from pyharness.features.gate.driving.process import DriverProcess
from pyharness.features.gate.suites import GateSuite
from pyharness.types import InputError

COUNTING_DRIVER = Path(__file__).with_name("counting_driver.py")
STEADY = ("setarch", "--addr-no-randomize")  # what hashes addresses does the same in every process


def valgrind() -> tuple[str, ...]:
    """Return the command that runs an interpreter and counts.

    Raises:
        InputError: valgrind is not installed.
    """
    if (path := shutil.which("valgrind")) is None:
        raise InputError("counting instructions needs valgrind, which is not on the search path: install it")
    return (*_steady(), path, "--tool=callgrind", "--instr-atstart=no", "--dump-line=no", "--quiet")


def _steady() -> tuple[str, ...]:
    """Without random addresses, where that may be asked for: many containers forbid it."""
    if (setarch := shutil.which(STEADY[0])) is None:
        return ()
    tried = subprocess.run([setarch, *STEADY[1:], "true"], capture_output=True, check=False)
    return (setarch, *STEADY[1:]) if tried.returncode == 0 else ()


class CountingProcess(DriverProcess):
    """One arm in one launch, counted.

    Args:
        arm: what is started; its processor may have any instructions, valgrind hides those beyond AVX2.
        suite: what it is asked for.
        texts: file of each kind of text.
        folder: where valgrind may write; it is the caller's to remove.
        limits: as those of ``DriverProcess``.

    Raises:
        ArmFailed: it does not start.
        InputError: valgrind is not installed.
    """

    def __init__(self, arm: Arm, suite: GateSuite, texts: Mapping[str, Path], folder: Path, **limits: Any) -> None:
        counts = folder.resolve() / f"counts-{arm.side}"  # names of the same length
        tool = (*valgrind(), f"--callgrind-out-file={counts}")
        super().__init__(arm, suite, texts, driver=(COUNTING_DRIVER, str(counts)), tool=tool, **limits)
