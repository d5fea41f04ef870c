"""What ``pyharness gate --calibrate`` does: gates of identical code, and of code with slowdowns that were planted."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyharness.features.gate import calibrating
from pyharness.features.gate import commands as gating
from pyharness.features.gate.arms import NotBuilt, lock
from pyharness.features.gate.judging.controls import is_control
from pyharness.features.gate.measuring import Listening
from pyharness.features.gate.types import ArmFailed, Calibration, Gate, GateBenchmark
from pyharness.system import program
from pyharness.types import InputError

GATES = 16  # half of them of identical code: 8 x 14 comparisons and the unplanted bound false alarms by 2 %
FEWEST = 2
LEVELS = (0.03, 0.05, 0.10)


def calibrate(asked: gating.GateRequest, listener: Listening, gates: int = GATES) -> Calibration:
    """Build ``asked.base`` twice, in two folders, gate one against the other, and keep what came of it.

    In every second gate three of the benchmarks do 3, 5 and 10 % more work in the head. With ``asked.rules.minutes``
    building ends after that long, and no gate begins but the first two.

    Raises:
        InputError: the base does not build, nothing could be compared, or the result cannot be kept.
    """
    begun, made = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    minutes, rules = asked.rules.minutes, replace(asked.rules, minutes=None)
    deadline = math.inf if minutes is None else begun + 60 * minutes
    twice = replace(asked, head=asked.base, separate=True, cache=False, rules=rules)
    identical: list[Gate] = []
    slowed: list[tuple[Gate, dict[str, float]]] = []
    with lock.alone(force=asked.force):
        try:
            with program.until(deadline), gating.session(twice, listener) as ready:
                under_test = ready.under_test
                for number in range(gates):
                    if number >= FEWEST and time.monotonic() > deadline:
                        break
                    listener.stage(f"gate {number + 1} of {gates}")
                    planted = plan(number, [one for one in ready.benchmarks if not is_control(one, under_test)])
                    done = gating.judged(replace(ready, course=replace(ready.course, extra=planted)), rules)
                    if planted:
                        slowed.append((done, planted))
                    else:
                        identical.append(done)
        except (NotBuilt, ArmFailed, program.OutOfTime) as failure:
            limit = f"--max-minutes {minutes:g}: " if time.monotonic() >= deadline else ""
            raise InputError(f"{limit}there is nothing to calibrate by: {failure}") from None
    seconds = time.monotonic() - begun
    calibration = calibrating.calibrated(
        calibrating.machine(), identical, slowed, under_test=under_test, seconds=seconds, made=made
    )
    calibrating.keep(calibration)
    return calibration


def plan(number: int, benchmarks: Sequence[GateBenchmark]) -> dict[str, float]:
    """Slowdowns of gate ``number``: none in every second one; else of three benchmarks, which take turns.

    >>> names = [GateBenchmark(name, "encode", "pyharness", "code", 64) for name in "abcd"]
    >>> plan(0, names), plan(1, names), plan(3, names)
    ({}, {'a': 0.03, 'b': 0.05, 'c': 0.1}, {'b': 0.03, 'c': 0.05, 'd': 0.1})
    """
    # Controls stay as they are, or the gate would say that its arms differ; what reads no text cannot do a share more.
    able = [one.name for one in benchmarks if one.text and one.library == benchmarks[0].library]
    if number % 2 == 0:
        return {}
    return {able[(number // 2 + place) % len(able)]: level for place, level in enumerate(LEVELS[: len(able)])}
