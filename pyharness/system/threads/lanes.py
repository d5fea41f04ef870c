"""Things done side by side, in threads that each wait for a process; whoever stops one stops all."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

STOP_SECONDS = 0.1  # between two calls of ``stop``: a lane may have begun something after the first

Unit = TypeVar("Unit")
Lane = TypeVar("Lane")


class Stopped(Exception):
    """What was to be done is not wanted any more: raised in a lane, and caught there."""


def share_out(
    units: Iterable[Unit],
    lanes: Sequence[Lane],
    do: Callable[[Unit, Lane], None],
    stop: Callable[[Lane], None],
    end: Callable[[Lane], None] = lambda _: None,
) -> None:
    """Call ``do(unit, lane)`` for every unit, with as many at a time as there are lanes.

    One lane is this thread. What ``do`` raises in a lane, or a signal here, stops the others and is raised here.

    Args:
        units: what there is to do; each is begun by the first lane that is free.
        lanes: what a unit needs while it is worked on.
        do: works on a unit; where it raises ``Stopped``, its lane ends.
        stop: called from this thread, again and again, until the lane has ended: lets a ``do`` that waits give up.
        end: called in a lane when nothing is left to do; a child process ends with the thread that has started it.
    """
    waiting = deque(units)
    if len(lanes) == 1:
        try:
            while waiting:
                do(waiting.popleft(), lanes[0])
        finally:
            end(lanes[0])
        return
    stopping = threading.Event()

    def work(lane: Lane) -> None:
        try:
            while waiting and not stopping.is_set():
                try:
                    unit = waiting.popleft()
                except IndexError:  # another lane was quicker
                    return
                do(unit, lane)
        except Stopped:
            pass
        finally:
            end(lane)

    with ThreadPoolExecutor(len(lanes)) as pool:
        futures = {pool.submit(work, lane): lane for lane in lanes}
        try:
            _await(futures)
        except BaseException:
            stopping.set()
            while any(not future.done() for future in futures):
                for future, lane in futures.items():
                    if not future.done():
                        stop(lane)
                wait(futures, STOP_SECONDS)
            raise


def _await(futures: Iterable[Future[None]]) -> None:
    """Return when all have ended well; raise what the first raises that does not."""
    left = set(futures)
    while left:
        done, left = wait(left, return_when="FIRST_COMPLETED")
        for future in done:
            future.result()
