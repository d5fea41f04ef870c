"""Fill a history: the gates of a range that are missing, in an order in which each shows the most."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyharness.features.history.collecting import whole_text
from pyharness.features.history.database import Database, opened
from pyharness.features.history.measuring.gates import PAUSE, BaseUnbuilt, HistoryGates, NoFurtherGate, TimeIsOver
from pyharness.features.history.places import branch_line
from pyharness.types import InputError

RANGE = "write GOOD..BAD, or a revision for all up to it"


@dataclass(frozen=True, slots=True)
class FillRequest:
    """What all revisions are measured against, and how."""

    anchor: str  # commit
    subject: str = ""
    wheel: str = ""  # file of the anchor, instead of a build
    launches: int = 5  # of every benchmark
    again: bool = False  # try revisions that gave no point before, too


@dataclass
class Filled:
    """What a fill did."""

    measured: list[str] = field(default_factory=list)
    gaps: dict[str, str] = field(default_factory=dict)  # revision -> why it has no point
    left: int = 0  # revisions that are still missing
    over: bool = False  # whether the time limit ended it


def order_of(count: int, done: Collection[int]) -> list[int]:
    """Return the places that are not done: the newest, the oldest, then the middle of the widest gap, again and again.

    >>> order_of(9, ()), order_of(9, (0, 8)), order_of(5, (1, 2))
    ([8, 0, 4, 2, 6, 1, 3, 5, 7], [4, 2, 6, 1, 3, 5, 7], [4, 0, 3])
    """
    ends = [place for place in dict.fromkeys((count - 1, 0)) if 0 <= place < count and place not in done]
    known = sorted({*done, *ends})
    gaps = [(low - high, low, high) for low, high in pairwise(known)]
    heapq.heapify(gaps)
    order = ends
    while gaps:
        width, low, high = heapq.heappop(gaps)
        if width == -1:
            continue
        middle = (low + high) // 2
        order.append(middle)
        for part in ((low, middle), (middle, high)):
            heapq.heappush(gaps, (part[0] - part[1], *part))
    return order


def revisions_of(gates: HistoryGates, text: str, every: int = 1) -> list[str]:
    """Return the commits of a range on the first-parent line, oldest first: each ``every``-th, and the newest.

    They are counted from the oldest on, so that a commit that is added leaves the choice as it is.

    Raises:
        InputError: an end is unknown, the first is not on the line of the second, the range is empty, or its commits
            are not on the branch of the history.
    """
    good, dots, bad = text.partition("..")
    if bad.startswith(".") or not (good if not dots else bad):
        raise InputError(f"{text!r} is no range of commits: {RANGE}")
    tip = gates.commit(bad if dots else good, "the range's end")
    line = branch_line(gates.asked.folder, tip)
    commits = [one.id for one in line.revisions] if line is not None else []
    if dots:
        begin = gates.commit(good, "the range's beginning")
        if begin not in commits:
            raise InputError(f"{text!r}: {good!r} is not on the first-parent line of {bad!r}: {RANGE}")
        commits = commits[: commits.index(begin)]
    if not commits:
        raise InputError(f"{text!r} has no commits: {RANGE}")
    of_branch = {one.id for one in gates.line.revisions}
    if aside := [one for one in commits if one not in of_branch]:  # their points would wait for a place
        raise InputError(
            f"{text!r}: {len(aside):,} of its commits, such as {aside[0][:10]}, are not on the first-parent line of "
            f"{gates.branch!r}: name their branch with --branch"
        )
    return [*commits[:0:-1][::every], commits[0]]


def measured_by(database: Database, anchor: str, suite: str) -> set[str]:
    """Return the revisions with a point that can be judged, of a suite, against an anchor."""
    query = (
        "SELECT DISTINCT p.revision FROM points p JOIN records r ON r.id = p.record "
        "WHERE p.anchor = ? AND r.suite = ? AND p.samples > 0"
    )
    return {str(revision) for (revision,) in database.rows(query, (anchor, whole_text(suite)))}


def gaps_of(database: Database, anchor: str, suite: str) -> dict[str, str]:
    """Return the revisions whose gate gave no point, with the latest reason, of a suite, against an anchor."""
    asked = (anchor, whole_text(suite))
    return {revision: reason for revision, *of, reason in database.gaps() if tuple(of) == asked}


def fill(
    gates: HistoryGates, asked: FillRequest, revisions: Sequence[str], tell: Callable[[str], object] = str
) -> Filled:
    """Run the gates that are missing; ``revisions`` are commits, oldest first, ``tell`` gets a line for each gate.

    Raises:
        InputError: the anchor does not build, or the first gate or any further one (``NoFurtherGate``) cannot run.
    """
    result = Filled()
    measured, gaps = _present(gates, asked)
    wanted = [one for one in revisions if one != asked.anchor]
    closed = measured if asked.again else measured | gaps.keys()
    order = order_of(len(wanted), [place for place, one in enumerate(wanted) if one in closed])
    todo = [wanted[place] for place in order]
    earlier = {} if asked.again else {one: gaps[one] for one in wanted if one in gaps and one not in measured}
    try:
        while todo:
            one = _next(gates, asked, todo, result)
            if one is not None:
                tell(f"{one[:10]}: {result.gaps.get(one, 'measured')}; {len(todo):,} left")
    except TimeIsOver:
        result.over = True
    result.gaps = {**earlier, **result.gaps}
    result.left = len(todo)
    return result


def _present(gates: HistoryGates, asked: FillRequest) -> tuple[set[str], dict[str, str]]:
    with opened(gates.place, create=True) as database:
        return measured_by(database, asked.anchor, gates.suite), gaps_of(database, asked.anchor, gates.suite)


def _next(gates: HistoryGates, asked: FillRequest, todo: list[str], result: Filled) -> str | None:
    """Measure the first revision that no other process works on, or wait for one.

    What another process has measured since is taken out of ``todo``. None where nothing was measured.
    """
    with opened(gates.place, create=True) as database:
        for one in list(todo):
            if time.monotonic() >= gates.deadline:
                raise TimeIsOver
            with database.claimed(f"{asked.anchor} {gates.suite} {one}") as mine:
                if mine:
                    _leave_out(gates, asked, todo)
                    if one in todo:
                        _measure(gates, asked, one, result)
                        todo.remove(one)
                        return one
                    return None
    gates.pause(PAUSE)
    _leave_out(gates, asked, todo)
    return None


def _leave_out(gates: HistoryGates, asked: FillRequest, todo: list[str]) -> None:
    """Take out what has a point by now."""
    measured, gaps = _present(gates, asked)
    todo[:] = [one for one in todo if one not in measured and (asked.again or one not in gaps)]


def _measure(gates: HistoryGates, asked: FillRequest, revision: str, result: Filled) -> None:
    anchor = {"commit": asked.anchor, "subject": asked.subject} if asked.wheel else None
    try:
        gate = gates.measured(asked.wheel or asked.anchor, revision, asked.launches, anchor=anchor)
    except BaseUnbuilt as refusal:
        advice = "give another wheel" if asked.wheel else "a wheel of it can be given with --wheel"
        raise InputError(f"the anchor does not build ({refusal}): {advice}") from None
    except InputError as refusal:
        is_first = not (result.measured or result.gaps)  # what is wrong with the first is wrong with all, mostly
        if is_first or isinstance(refusal, NoFurtherGate):
            raise
        result.gaps[revision] = str(refusal)
        return
    if gate.self_test.faults:
        result.gaps[revision] = gate.self_test.faults[0]
    else:
        result.measured.append(revision)
