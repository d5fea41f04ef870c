"""Gates that a history asks for: each runs when the machine is free, and its record is added.

``fill``, ``find`` and ``check --confirm`` ask for them. A gate that the time limit cut short is not added: its
launches were chosen by the clock.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pyharness.features.gate import suites
from pyharness.features.gate.builds.checkouts import Checkout
from pyharness.features.gate.commands import MachineBusy
from pyharness.features.gate.records import dump_gate
from pyharness.features.gate.session import GateRequest
from pyharness.features.gate.types import BELOW_ALL, Gate
from pyharness.features.gate.verdicts.judgements import LATE
from pyharness.features.history.collecting import ASKS, entry_of_gate
from pyharness.features.history.database import Place, opened
from pyharness.features.history.places import BranchLine, branch_line
from pyharness.system import atomic_file
from pyharness.types import InputError

PAUSE = 2.0  # seconds between two looks at a machine or a history that another process holds
ROOM = 16 << 20  # bytes: a disk with less is full
RunGate: TypeAlias = Callable[[GateRequest], Gate]


class TimeIsOver(Exception):
    """The limit of ``--max-minutes`` has passed: what was measured is added, the rest is not measured."""


class BaseUnbuilt(InputError):
    """The base of a gate does not build; the message says why."""


class NoFurtherGate(InputError):
    """What ended a gate would end the next one, too: a full disk, or a history that takes no record."""


@dataclass
class HistoryGates:
    """Runs gates of one suite, and adds them to one history.

    ``asked`` has what all of them share; its base, head, rules' launches and limit are each gate's own.
    """

    place: Place
    asked: GateRequest
    run: RunGate
    branch: str = "HEAD"
    deadline: float = math.inf  # time.monotonic()
    pause: Callable[[float], None] = time.sleep
    line: BranchLine = field(init=False)
    suite: str = field(init=False)  # as records have it
    checkout: Checkout = field(init=False)

    def __post_init__(self) -> None:
        asked = self.asked
        checkout, line = Checkout.around(asked.folder), branch_line(asked.folder, self.branch)
        if checkout is None or line is None:
            raise InputError(f"{str(asked.folder)!r} is in no git checkout with a commit: run this in the project's")
        self.checkout, self.line = checkout, line
        self.suite = asked.tests or suites.read(suites.find(asked.suite or suites.DEFAULT)).name

    def commit(self, revision: str, option: str) -> str:
        """Return the commit that a revision names; raise ``InputError`` where this clone has none."""
        commit = self.checkout.commit(revision)
        if commit is None:
            raise InputError(f"{option} {revision!r} names no commit here: git log lists them, git fetch gets new ones")
        return commit

    def measured(
        self, base: str, head: str, launches: int, *, only: tuple[str, ...] = (), instructions: bool = False,
        anchor: Mapping[str, str] | None = None,
    ) -> Gate:  # fmt: skip
        """Run a gate of two commits in which every benchmark gets all launches, and add its record.

        Args:
            base: a commit, or the file of a wheel.
            head: a commit.
            launches: of each benchmark.
            only: benchmarks of the suite, with its controls; such a gate is no point of a line. (): all.
            instructions: count them, too.
            anchor: commit and subject of a base that is a wheel.

        Raises:
            InputError: the request is wrong, the base does not build (``BaseUnbuilt``), the system refuses, or the
                history refuses the record, which is then in a file (``NoFurtherGate``).
            TimeIsOver: the limit has passed, or would have cut the gate short.
        """
        narrow = self._narrowed(only)
        gate = self._once_free(replace(narrow, base=base, head=head, instructions=instructions), launches)
        late = any(one.reason == LATE for one in gate.judgements)  # later cuts come with the limit
        if time.monotonic() >= self.deadline or (late and math.isfinite(self.deadline)):
            raise TimeIsOver
        if "refused" in gate.about or (gate.self_test.faults and not _has_room()):  # says nothing of the revision
            raise NoFurtherGate(f"{gate.self_test.faults[0]}; no further gate is tried: mend that, or make room")
        if gate.about.get("unbuilt") == "base":
            raise BaseUnbuilt(gate.self_test.faults[0])
        about = dict(gate.about)
        if anchor is not None:
            about["commits"] = {**about.get("commits", {}), "base": dict(anchor)}
        if only:
            about[ASKS] = list(only)
        gate = replace(gate, suite=self.suite, about=about)
        self._add(gate, head)
        return gate

    def _add(self, gate: Gate, head: str) -> None:
        """Add a gate; where the history refuses it, write its record to a file, since it took minutes."""
        entry = entry_of_gate(gate)
        try:
            with opened(self.place, create=True) as database:
                database.add([entry], self.line)
        except InputError as refusal:
            kept = _set_aside(f"gate-{head}-{entry.id[:8]}.json", dump_gate(gate), self.asked.folder)
            raise NoFurtherGate(f"{refusal}; {kept}") from None

    def _narrowed(self, only: tuple[str, ...]) -> GateRequest:
        """Return the request for a few benchmarks; of tests, one is named by its path, and several are not."""
        if self.asked.tests is None:
            return replace(self.asked, only=only)
        files = [self.asked.folder / name.partition("::")[0] for name in only]
        asked = replace(self.asked, expected=only)
        return replace(asked, tests=only[0]) if len(files) == 1 and files[0].is_file() else asked

    def _once_free(self, asked: GateRequest, launches: int) -> Gate:
        while (left := self.deadline - time.monotonic()) > 0:
            minutes = None if math.isinf(left) else left / 60
            try:
                return self.run(replace(asked, rules=replace(asked.rules, launches=launches, screen=BELOW_ALL,
                                                             minutes=minutes)))  # fmt: skip
            except MachineBusy:
                self.pause(min(PAUSE, left))
        raise TimeIsOver


def _set_aside(name: str, record: str, folder: Path) -> str:
    """Write the record of a gate to a file: in the folder, or else among temporary files; return what to say of it."""
    for place in (folder, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError, InputError):
            atomic_file.write(place / name, record)
            return f"the gate is kept: pyharness history add {place / name}"
    return "no disk has room for the gate, and it is lost"


def _has_room() -> bool:
    """Whether files can still be written where gates build."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(ROOM))
            file.flush()
    except OSError:
        return False
    return True
