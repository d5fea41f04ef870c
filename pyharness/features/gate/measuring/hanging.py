"""Which side hangs: each is asked alone, in a fresh process, for what one of the two gave no answer to."""

from __future__ import annotations

import time
from contextlib import closing, suppress

from pyharness.features.gate.measuring.course import Course
from pyharness.features.gate.measuring.patience import Gone, Question, failing
from pyharness.features.gate.types import SIDES, Absent, Side


class Overtime(Exception):
    """The time that the gate may take is over."""


def blamed(course: Course, launch: int, gone: Gone, question: Question, *, again: bool) -> str | None:
    """Say why a benchmark has failed in which one side was silent; None where both answer when they are alone.

    ``again``: that was so before, and the side is silent once more.

    Raises:
        Overtime: it was not found out in time.
    """
    (other,) = (side for side in SIDES if side != gone.side)
    if (fault := _alone(course, launch, other, question)) is not None:
        if time.monotonic() > course.deadline and not fault.silent:
            raise Overtime
        return f"{gone}; {fault}, alone in a fresh process"
    if again:
        return f"{gone}, twice, beside the other side; alone in a fresh process it answers"
    if (fault := _alone(course, launch, gone.side, question)) is None:
        return None
    if time.monotonic() > course.deadline and not fault.silent:  # cut off: what it was silent for before has to do
        if gone.silent < course.patience.limit(question):
            raise Overtime
        return f"{gone}; {other} answers"
    return f"{gone}; alone in a fresh process, {fault}; {other} answers"


def _alone(course: Course, launch: int, side: Side, question: Question) -> Gone | None:
    """Ask one side, while no process of the other is there; returns how it failed."""
    name = question.benchmark
    try:
        with failing(side, question):
            process = course.start(side, launch, [name])
        with closing(process), suppress(Absent):
            with failing(side, question):
                process.benchmarks()
            with course.patience.asking(side, process, Question(name, "prepare")):
                process.prepare(name)
            if question.batch is not None:
                with course.patience.asking(side, process, question):
                    process.time(name, question.batch)
            with course.patience.asking(side, process, Question(name, "finish")):
                process.finish(name)
    except Gone as gone:
        return gone
    return None
