"""Threads of this process: pools of native libraries, units done in their order, and lanes that each wait for a child.

Some libraries size their pool once, at first use, from an environment variable. A process can therefore measure such a
library on one number of threads: the first that is requested. A library with a separate call for one thread can also be
measured on one. Each further number takes a process of its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from pyharness.types import Unsupported

STOP_SECONDS = 0.1  # between two calls of ``stop``: a lane may have begun a unit after the first

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Lane = TypeVar("Lane")


class ThreadPool:
    """The pool of one library in this process."""

    def __init__(self, library: str, variable: str, *, even_one: bool = False) -> None:
        self.library = library
        self.variable = variable
        self.smallest = 1 if even_one else 2  # a library with a separate call for one thread needs no pool there
        self.size: int | None = None

    def start(self, threads: int) -> None:
        """Set the size of the pool for its first use, unless it is set, or the call needs no pool."""
        if threads >= self.smallest and self.size is None:
            self.size = threads
            os.environ[self.variable] = str(threads)

    def require(self, threads: int) -> None:
        """Start the pool as ``start`` does; raise ``Unsupported`` if it has another size than so many threads need."""
        if threads >= self.smallest and self.size not in (None, threads):
            raise Unsupported(
                f"{self.library} started its pool with {self.size} threads in this process and cannot be timed on "
                f"{threads}; time each number of threads in a process of its own"
            )
        self.start(threads)


@cache
def pool_of(library: str, variable: str) -> ThreadPool:
    """Return the pool of a library that several modules run: one per process."""
    return ThreadPool(library, variable)


def require_one(library: str, action: str, threads: int) -> None:
    """Raise ``Unsupported`` for more than one thread, for a call of a library without threads."""
    if threads > 1:
        raise Unsupported(f"{library} has no threads for {action}: it cannot be timed on {threads}")


def in_order(do: Callable[[Unit], Result], units: Iterable[Unit], threads: int) -> Iterator[Result]:
    """Yield ``do(unit)`` of every unit, in their order. Several are worked on at a time; this thread takes the units.

    The first error in this order is raised, as with one thread. Units that have not begun by then are dropped.

    >>> list(in_order(str, range(5), threads=2))
    ['0', '1', '2', '3', '4']
    """
    if threads == 1:
        yield from map(do, units)
        return
    begun = deque[Future[Result]]()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for future in _begin(pool, do, units):
                begun.append(future)
                if len(begun) > 2 * threads:  # none waits for this thread to take the next
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(pool: ThreadPoolExecutor, do: Callable[[Unit], Result], units: Iterable[Unit]) -> Iterator[Future[Result]]:
    """Yield a future for each unit, and for an error of reading: what failed before comes first."""
    try:
        for unit in units:
            yield pool.submit(do, unit)
    except Exception as error:
        failed = Future[Result]()
        failed.set_exception(error)
        yield failed


class Stopped(Exception):
    """The work is no longer wanted: raised in a lane, and caught there."""


def share_out(
    units: Iterable[Unit],
    lanes: Sequence[Lane],
    do: Callable[[Unit, Lane], None],
    stop: Callable[[Lane], None],
    end: Callable[[Lane], None] = lambda _: None,
) -> None:
    """Call ``do(unit, lane)`` for every unit, with as many at a time as there are lanes.

    A single lane works in this thread, several in threads of their own. An exception of ``do``, or one that a signal
    raises here, stops the other lanes and is raised here.

    Args:
        units: the work; the first free lane begins each.
        lanes: what a unit needs during its work.
        do: works on a unit; if it raises ``Stopped``, its lane ends (of several).
        stop: called from this thread, repeatedly, until the lane has ended: lets a waiting ``do`` give up.
        end: called in the thread of a lane when it ends: a child process ends with the thread that started it. A single
            lane is the caller's to end.
    """
    waiting = deque(units)
    if len(lanes) == 1:
        while waiting:
            do(waiting.popleft(), lanes[0])
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
    """Wait for all to end well; raise the exception of the first that fails."""
    left = set(futures)
    while left:
        finished, left = wait(left, return_when="FIRST_COMPLETED")
        for future in finished:
            future.result()
