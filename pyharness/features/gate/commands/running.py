"""From a request to a gate, whatever becomes of it."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyharness.features.gate import arms as making
from pyharness.features.gate import sources, suites
from pyharness.features.gate.arms import lock
from pyharness.features.gate.commands.judging import judged
from pyharness.features.gate.commands.ready import session
from pyharness.features.gate.commands.request import GateRequest, checked
from pyharness.features.gate.measuring import Listening
from pyharness.features.gate.types import ArmFailed, Gate, GateVerdict, SelfTest, Waiver
from pyharness.system import program
from pyharness.system.environment import fingerprint
from pyharness.types import InputError


def gate(asked: GateRequest, listener: Listening) -> Gate:
    """Measure and judge. What cannot be compared is a verdict as well, with its reason.

    Raises:
        InputError: for anything that is asked wrongly, before anything is built. What is found later is a verdict.
    """
    begun, minutes = time.time(), asked.rules.minutes
    deadline = math.inf if minutes is None else time.monotonic() + 60 * minutes
    shared: tuple[str, ...] = ()
    try:
        with program.until(deadline):  # git is asked from the first check on
            waivers = checked(asked)
            with lock.alone(force=asked.force) as shared:
                done = _compared(asked, listener, deadline, waivers)
    except program.OutOfTime as ended:
        limit = f"--max-minutes {minutes:g}: " if time.monotonic() >= deadline else ""
        done = _incomparable(asked, f"{limit}{ended}")
    except sources.NoRevision as lacking:  # a job has not fetched it: what its outputs say must not be that of another
        done = _incomparable(asked, str(lacking))
    created = datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds")
    about = {**done.about, "environment": fingerprint(), "created": created, "seconds": time.time() - begun}
    let_through = f"builds of both sides got {', '.join(asked.passed)} as well, which the code that is built can read"
    return replace(done, notes=(*shared, *([let_through] if asked.passed else ()), *done.notes), about=about)


def _compared(asked: GateRequest, listener: Listening, deadline: float, waivers: Sequence[Waiver]) -> Gate:
    try:
        with session(asked, listener, deadline) as ready:
            return judged(ready, asked.rules, waivers)
    except (making.NotBuilt, ArmFailed, InputError) as failure:
        return _incomparable(asked, str(failure))
    except OSError as refusal:  # a full disk, mostly
        if isinstance(refusal, BrokenPipeError):  # nobody reads on
            raise
        return _incomparable(asked, f"the system refuses: {refusal}")
    except program.OutOfTime:
        raise
    except Exception as fault:  # of ours: a traceback alone would end with 1, which is a regression
        traceback.print_exc()
        said = " ".join(str(fault).split())[:300]
        return _incomparable(asked, f"a fault of pyharness itself, please report it: {type(fault).__name__}: {said}")


def _incomparable(asked: GateRequest, reason: str) -> Gate:
    what = asked.tests or asked.suite or suites.DEFAULT
    return Gate(what, asked.rules, {}, (), (), (), (), SelfTest((reason,)), GateVerdict.INCOMPARABLE)
