"""The base's own tests: what it measures, and the head has deleted, renamed, or no longer runs.

The tests that are timed are the head's, in both arms, and would not miss what the head has taken away. No evidence is
no pass: the base's own are collected in its arm, and those that the head does not run are tried there. None is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from pyharness.features.gate.benchmarking.process import PytestProcess
from pyharness.features.gate.measuring import Measured
from pyharness.features.gate.types import Absent, ArmFailed, GateVerdict

Start = Callable[[Sequence[str] | None], PytestProcess]  # wanted names (None: all)


@dataclass(frozen=True, slots=True)
class OwnTests:
    """Tests of the base that use the fixture, as its own files have them."""

    start: Start
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def settle(self, measured: Measured, deadline: float) -> None:
        """Count as failed what the base's own tests run and the head's do not: skipped, or unable to run in the base.

        What neither runs stays as it is. Where that cannot be found out, it is inconclusive, with both reasons.
        """
        reasons = {**measured.new, **measured.skipped}
        doubtful = [name for name in self.names if name in reasons]
        tried, unknown = self._tried(doubtful, deadline)
        for name, runs in tried.items():
            if runs is False:
                continue
            measured.new.pop(name, None)
            measured.skipped.pop(name, None)
            if runs is None:
                why = f"the head's does not run, and whether the base's own does is not known, {unknown}: "
                measured.refusals[name] = (GateVerdict.INCONCLUSIVE, why + reasons[name])
            else:
                why = f"the base runs its own, and the head's does not run: {reasons[name]}"
                measured.refusals[name] = (GateVerdict.FAILED, why)

    def _tried(self, names: Sequence[str], deadline: float) -> tuple[dict[str, bool | None], str]:
        """Whether each test calls its fixture; None where that is not known, and why not."""
        runs: dict[str, bool | None] = {}
        while (left := [name for name in names if name not in runs]) and time.monotonic() < deadline:
            before = len(runs)
            with suppress(ArmFailed), closing(self.start(left)) as worker:  # the rest gets another process
                worker.benchmarks()
                for name in left:
                    runs[name] = False
                    with suppress(Absent):
                        worker.prepare(name)
                        runs[name] = True
                        worker.finish(name)
            if len(runs) == before:
                break
        if len(runs) == len(names) and time.monotonic() < deadline:
            return runs, ""
        unknown = "as its process failed" if time.monotonic() < deadline else "as the time ran out"
        return {**dict.fromkeys(names), **{name: True for name, known in runs.items() if known}}, unknown


def own_tests(start: Start) -> OwnTests:
    """Collect the base's own tests. Where that fails, so does no gate of a head that mends it; it is a note."""
    try:
        with closing(start(None)) as worker:
            names = worker.benchmarks()
            notes = [f"the base's own {file} cannot be collected: {why}" for file, why in worker.broken.items()]
    except ArmFailed as failure:
        names, notes = (), [f"the base's own tests are not known: {failure}"]
    return OwnTests(start, names, tuple(f"{note}; a benchmark that is gone from it is not missed" for note in notes))
