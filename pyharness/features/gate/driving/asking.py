"""The process of an arm, asked for one thing at a time: whatever it is that answers."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.features.gate.arms.arm import Arm
from pyharness.features.gate.types import LEAST_PATIENCE, ArmFacts, ArmFailed, ArmSilent, Figure, Timing
from pyharness.store.shape import Misshapen, get
from pyharness.system.child_process import Child, ChildDied, Overdue
from pyharness.types import InputError

TIME_LIMIT_SECONDS = 300.0  # for an answer: a preparation may train, a batch takes some milliseconds
FIGURES: tuple[Figure, ...] = ("memory", "instructions")
LONGEST = 1 << 62  # nanoseconds, bytes or instructions


class Asked:
    """A process of an arm's interpreter that answers messages in turn; see ``driver.py``.

    Args:
        arm: what is started.
        command: a file that the interpreter runs, and its arguments.
        folder: where it works, if not in the folder of the arm.
        time_limit: seconds for an answer.
        deadline: when the gate's time is over (``time.monotonic``); no answer is waited for any longer.
        memory_limit: bytes that it may hold.
        tool: a program, with its arguments, that runs the interpreter: one that counts.

    Raises:
        ArmFailed: it does not start.
    """

    def __init__(
        self,
        arm: Arm,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        time_limit: float = TIME_LIMIT_SECONDS,
        deadline: float = math.inf,
        memory_limit: int | None = None,
        tool: Sequence[str] = (),
    ) -> None:
        self.arm, self.time_limit, self.deadline = arm, time_limit, deadline
        self.patience = math.inf  # seconds that an answer is waited for, if that is less
        self._asked = 0
        try:
            self.child = Child(
                command,
                program=[*tool, str(arm.python), "-P", "-s"],
                folder=folder or arm.folder,
                environment=arm.variables,
                bare=True,
                memory_limit=memory_limit,
                asked=True,
            )
        except InputError as error:
            raise ArmFailed(f"{arm.python}: {error}") from None

    def facts(self) -> ArmFacts:
        """Say what it is."""
        said = self.ask("hello")
        facts, libraries = (self.shaped(said, name, dict) for name in ("facts", "libraries"))
        return ArmFacts(self.arm.side, self.arm.source, self.arm.version, facts, libraries)

    def close(self) -> None:
        """End the process and all that it has started."""
        self.child.close()

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """Send a message and wait for its answer; raises ``ArmFailed`` with the reason where there is none."""
        self._asked += 1
        begun = time.monotonic()
        longest = min(self.time_limit, self.patience, self._share(self.deadline - begun))
        deadline = min(begun + longest, self.deadline)
        try:
            self.child.tell(json.dumps({"id": self._asked, "do": what, **details}).encode(), deadline)
            answer = self._understood(self.child.listen(deadline))
        except Overdue:
            if deadline < self.deadline:
                raise ArmSilent(f"no answer within {longest:.3g} s ({what})") from None
            raise ArmFailed(f"no answer within the time of the gate ({what})") from None
        except ChildDied as death:
            raise ArmFailed(f"the process {death}") from None
        if (error := answer.get("error")) is not None:
            raise ArmFailed(str(error))
        return answer

    @staticmethod
    def _share(left: float) -> float:
        """Seconds of those that the gate has left for one answer: the other side needs as many for the same."""
        return max(left / 2, min(left, LEAST_PATIENCE))

    def _understood(self, line: bytes | None) -> dict[str, Any]:
        if line is None:
            raise ArmFailed("the process ended with status 0 and without an answer")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("id") != self._asked:
            raise self.failed(f"the process said what is no answer: {line[:80]!r}")
        return answer

    def timing(self, said: Mapping[str, Any], calls: int) -> Timing:
        """What the clocks say of a batch; raises ``ArmFailed`` where that cannot be."""
        wall, cpu, done = (self.number(said, name) for name in ("wall", "cpu", "calls"))
        if done != calls:
            raise self.failed(f"the process did {done:,} of {calls:,} calls")
        if wall <= 0 or cpu <= 0:
            raise self.failed(
                f"its clock goes backwards or stands still: {calls:,} calls took {wall:,} ns by the wall and "
                f"{cpu:,} ns of the processor"
            )
        return Timing(wall, cpu)

    def figures(self, said: Mapping[str, Any]) -> dict[Figure, int]:
        """What was measured besides time."""
        figures = self.shaped(said, "figures", dict)
        return {name: self.number(figures, name) for name in FIGURES if name in figures}

    def number(self, said: Mapping[str, Any], name: str) -> int:
        """A whole number of an answer."""
        number: int = self.shaped(said, name, int)
        if abs(number) > LONGEST:
            raise self.failed(f"the process gave {name} = {number:.3g}")
        return number

    def shaped(self, said: Mapping[str, Any], name: str, kind: type) -> Any:
        """A value of an answer, of the kind that is due."""
        try:
            return get(said, name, kind)
        except Misshapen as fault:
            raise self.failed(f"the process gave an answer that is none: {fault}") from None

    def failed(self, how: str) -> ArmFailed:
        """End the process; returns what to raise."""
        self.close()  # what it says cannot be believed any more
        return ArmFailed(how)
