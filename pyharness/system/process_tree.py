"""A process and its descendants: the memory they hold, and how to end them all. The peak is of this process alone.

Read from ``/proc`` (Linux: proc(5)). Elsewhere a tree is its root, its memory counts as 0, a group is ended whole, and
the peak is what the system says of its use of resources.
psutil scans all processes of a machine for the children of one. With 90 of them it takes 2.6 ms of a processor where
this takes 0.1 ms, ten times a second during what is timed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "PYHARNESS_CHILD"  # an environment variable: descendants inherit it, in any session
PROC = Path("/proc")
ROUNDS = 50  # of searches for remaining processes, with a short sleep between them
PAUSE_SECONDS = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")


def members(root: int) -> list[int]:
    """Return a process and its descendants, as far as ``/proc`` lists them."""
    processes, left = [root], [root]
    while left:
        children = [child for child in _children(left.pop()) if child not in processes]
        processes += children
        left += children
    return processes


def _children(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):  # it has ended
        for task in os.scandir(PROC / str(process) / "task"):
            with contextlib.suppress(OSError):
                yield from map(int, Path(task, "children").read_text(encoding="ascii").split())


def resident(root: int) -> int:
    """Return the bytes of memory that a process and its descendants hold; pages shared after a fork count once."""
    tree = members(root)
    largest = sum(map(own_resident, tree))
    return largest if len(tree) == 1 else min(largest, sum(map(_proportional, tree)) or largest)


def own_resident(process: int) -> int:
    """Return the bytes of memory that a process holds, without its descendants; 0 if it has ended or is unknown."""
    try:
        return int((PROC / str(process) / "statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def peak_memory() -> int:
    """Return the largest resident set of this process since the mark was reset, in bytes."""
    try:
        # ru_maxrss would include the parent's memory at the fork; the high-water mark is this image's own.
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _proportional(process: int) -> int:
    try:
        lines = (PROC / str(process) / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return own_resident(process)
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def end(root: int | None, mark: str) -> None:
    """Kill a process, its group, its descendants, and all processes with its mark: daemons that left the tree.

    ``root`` is None if it was waited for already. Return when none is left, or after about a second; reap nothing.
    """
    for _ in range(ROUNDS):
        family = [] if root is None else members(root)
        doomed = [one for one in {*family, *_find_marked(mark)} if _lives(one)]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if root is not None:
                os.killpg(root, signal.SIGKILL)
        for one in doomed:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        if not doomed:
            return
        time.sleep(PAUSE_SECONDS)


@contextmanager
def guarded(mark: str) -> Iterator[Callable[[int], None]]:
    """End the processes with a mark if this process is killed in the block: a build must not outlive it.

    Yields a function to be called with the id of the started process. A second process waits for the end of this one,
    because the system's own mechanism (``lifeline``) needs a process whose first steps are ours.
    """
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, mark], stdin=subprocess.PIPE, env={}, start_new_session=True
    )
    assert guard.stdin is not None  # noqa: S101 -- a pipe was asked for
    pipe = guard.stdin
    try:
        yield lambda root: _tell(pipe.fileno(), root)
    finally:
        guard.kill()  # before its pipe is closed, for which it waits
        pipe.close()
        guard.wait()


def _tell(pipe: int, root: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # another process has ended the guard
        os.write(pipe, str(root).encode())


def _find_marked(mark: str) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(PROC):
            with contextlib.suppress(OSError):  # another user's, or gone
                if entry.name.isdecimal() and mark.encode() in Path(entry, "environ").read_bytes():
                    yield int(entry.name)


def _lives(process: int) -> bool:
    try:
        status = (PROC / str(process) / "stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])


if __name__ == "__main__":
    told = sys.stdin.read()  # until the other end of the pipe is closed; only the parent holds it
    end(int(told) if told else None, sys.argv[1])
