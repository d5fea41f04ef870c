"""Work side by side: everything is done once, and whatever ends one lane ends all."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pyharness.system.threads import Stopped, in_order, share_out


class Lane:
    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.ended_in: int | None = None

    def stop(self) -> None:
        self.stopped.set()

    def end(self) -> None:
        self.ended_in = threading.get_ident()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_unit_is_done_once_and_every_lane_ends_where_it_worked(number: int) -> None:
    done: list[tuple[int, int]] = []
    lanes = [Lane() for _ in range(number)]
    share_out(range(50), lanes, lambda unit, _: done.append((unit, threading.get_ident())), Lane.stop, Lane.end)
    assert sorted(unit for unit, _ in done) == list(range(50))
    worked = {thread for _, thread in done}
    if number == 1:
        assert (worked, lanes[0].ended_in) == ({threading.get_ident()}, None)  # it is the caller's to end
    else:
        assert worked <= {lane.ended_in for lane in lanes} - {threading.get_ident()}


def meet(barrier: threading.Barrier) -> None:
    barrier.wait()


def test_lanes_work_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=20)
    share_out(range(2), [Lane(), Lane()], lambda *_: meet(together), Lane.stop)


def test_what_one_lane_raises_stops_the_other_and_leaves_the_rest_undone() -> None:
    begun: list[int] = []

    def do(unit: int, lane: Lane) -> None:
        begun.append(unit)
        if unit == 1:
            raise ValueError("wrong")
        assert lane.stopped.wait(20), "nobody told this lane to stop"
        raise Stopped

    lanes = [Lane(), Lane()]
    with pytest.raises(ValueError, match="wrong"):
        share_out(range(9), lanes, do, Lane.stop, Lane.end)
    assert sorted(begun) == [0, 1]
    assert all(lane.ended_in for lane in lanes)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_in_order_is_raised(threads: int) -> None:
    def units() -> Iterator[int]:
        yield from range(2)
        raise LookupError("reading")

    def fail(unit: int) -> int:
        raise ValueError(unit)

    with pytest.raises(ValueError, match="0"):
        list(in_order(fail, units(), threads))
    with pytest.raises(LookupError):
        list(in_order(str, units(), threads))


def test_units_that_have_not_begun_are_dropped_after_an_error() -> None:
    begun: list[int] = []
    may_end = threading.Event()

    def work(unit: int) -> None:
        begun.append(unit)
        if unit == 0:
            raise ValueError(unit)
        may_end.wait(10)

    results = in_order(work, range(100), 2)
    threading.Timer(0.1, may_end.set).start()
    with pytest.raises(ValueError, match="0"):
        next(results)
    assert len(begun) < 5
