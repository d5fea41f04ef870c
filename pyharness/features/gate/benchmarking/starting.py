"""How the processes of a gate of tests are started: the head's tests in both arms, and the base's own in its arm."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.features.gate.arms import Arms
from pyharness.features.gate.benchmarking.own import OwnTests, own_tests
from pyharness.features.gate.benchmarking.planting import Planted
from pyharness.features.gate.benchmarking.process import PytestProcess
from pyharness.features.gate.measuring.course import Start
from pyharness.features.gate.types import ArmProcess, Side


def starting(arms: Arms, planted: Planted, deadline: float) -> tuple[Start, OwnTests]:
    """Collect the base's own tests, and say how an arm's process is started.

    Args:
        arms: both.
        planted: the tests in them.
        deadline: when the gate's time is over (``time.monotonic``).
    """

    def start_own(wanted: Sequence[str] | None) -> PytestProcess:
        return PytestProcess(
            arms.base, planted.path, wanted=wanted, modules=planted.modules, tree=planted.own, deadline=deadline
        )

    own = own_tests(start_own) if planted.own is not None else OwnTests(start_own, notes=planted.notes)

    def start(side: Side, launch: int, wanted: Sequence[str] | None) -> ArmProcess:
        del launch
        arm = arms.base if side == "base" else arms.head
        return PytestProcess(
            arm, planted.path, wanted=wanted, modules=planted.modules, own=own.names, deadline=deadline
        )

    return start, own
